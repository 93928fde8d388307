#include "host_tracer/report/html_assets.h"

namespace lazyrt {

const char kReportStyle[] = R"css(
:root { color-scheme: light dark;
  --bg: #f6f7f9; --panel: #fff; --text: #1b2330; --soft: #5b6675; --line: #dfe3e9; --head: #f0f2f5;
  --accent: #3567d6; --good: #1a8a4b; --warn: #b36b00; --bad: #c62f36;
  --good-bg: #e5f5ec; --warn-bg: #fdf2dd; --bad-bg: #fce8e8; --track: #e7eaef; }
@media (prefers-color-scheme: dark) { :root {
  --bg: #11151b; --panel: #181e26; --text: #e3e8ef; --soft: #97a3b3; --line: #2a323d; --head: #1f2731;
  --accent: #7ba4ff; --good: #4fc685; --warn: #e6a946; --bad: #ff7b80;
  --good-bg: #12301f; --warn-bg: #33270f; --bad-bg: #391a1d; --track: #29313c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--text); font: 14px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 0 24px 80px; }
header { background: var(--panel); border-bottom: 1px solid var(--line); }
header > div { max-width: 1240px; margin: 0 auto; padding: 26px 24px 20px; display: flex; gap: 24px; align-items: center; }
h1 { font-size: 22px; margin: 0; overflow-wrap: anywhere; } h1 + p { margin: 4px 0 0; }
h2 { font-size: 16px; margin: 44px 0 10px; scroll-margin-top: 50px; } h3 { font-size: 14px; margin: 20px 0 6px; }
nav { position: sticky; top: 0; z-index: 2; background: var(--bg); border-bottom: 1px solid var(--line); }
nav div { max-width: 1240px; margin: 0 auto; padding: 7px 24px; display: flex; gap: 4px 18px; flex-wrap: wrap; font-size: 13px; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
.soft { color: var(--soft); } .warn { color: var(--warn); } .bad { color: var(--bad); } .good { color: var(--good); }
.verdict { flex: none; font-weight: 700; letter-spacing: .06em; border-radius: 10px; padding: 12px 20px; font-size: 17px; }
.verdict.good { background: var(--good-bg); } .verdict.warn { background: var(--warn-bg); } .verdict.bad { background: var(--bad-bg); }
.panel { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.scroll { overflow-x: auto; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(118px, 1fr)); gap: 10px; margin-top: 22px; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 11px 14px; font-size: 12.5px; color: var(--soft); }
.card b { display: block; font-size: 18px; font-weight: 650; color: var(--text); font-variant-numeric: tabular-nums; white-space: nowrap; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 6px 12px; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child > td { border-bottom: 0; } th { font-weight: 600; font-size: 12.5px; color: var(--soft); background: var(--head); white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; } td.w { min-width: 130px; width: 16%; vertical-align: middle; }
tr.off td { color: var(--soft); }
code { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.nowrap, .nowrap code { white-space: nowrap; overflow-wrap: normal; }
.bar { display: block; height: 8px; border-radius: 4px; background: var(--track); overflow: hidden; }
.bar > i { display: block; height: 100%; background: var(--accent); border-radius: 4px; }
.finding { background: var(--panel); border: 1px solid var(--line); border-left: 5px solid var(--soft); border-radius: 8px; padding: 11px 16px; margin: 8px 0; }
.finding.error { border-left-color: var(--bad); } .finding.warning { border-left-color: var(--warn); }
.finding p { margin: 3px 0; } .finding .fix { margin-top: 6px; }
.tag { display: inline-block; border-radius: 5px; padding: 0 7px; font-size: 12px; background: var(--track); margin-right: 6px; }
.tag.error, .tag.baked { background: var(--bad-bg); color: var(--bad); } .tag.warning { background: var(--warn-bg); color: var(--warn); }
.tag.guard, .tag.check { background: var(--good-bg); color: var(--good); }
.stack { display: flex; height: 20px; border-radius: 6px; overflow: hidden; gap: 2px; background: var(--track); margin: 12px 0 8px; }
.stack > i { display: block; min-width: 2px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 12.5px; color: var(--soft); }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 20px; align-items: start; }
.plot { padding: 14px 14px 6px; } svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
.meter { position: relative; height: 8px; border-radius: 4px; background: var(--track); }
.meter > i { position: absolute; inset: 0 auto 0 0; border-radius: 4px; background: var(--good); }
.meter.bad > i { background: var(--bad); } .meter > b { position: absolute; top: -4px; bottom: -4px; width: 2px; background: var(--soft); }
details > summary { cursor: pointer; } details.box > summary { padding: 8px 14px; color: var(--soft); }
.tree { font-variant-numeric: tabular-nums; } .tree summary { list-style: none; } .tree summary::-webkit-details-marker { display: none; }
.row { display: grid; grid-template-columns: minmax(220px, 1fr) 80px 90px 90px 90px 64px 150px; gap: 10px; padding: 5px 14px; border-bottom: 1px solid var(--line); align-items: center; }
.row > * { text-align: right; white-space: nowrap; } .row > :first-child { text-align: left; overflow: hidden; text-overflow: ellipsis; }
.row.top { background: var(--head); font-weight: 600; font-size: 12.5px; color: var(--soft); }
.tree summary .name::before { content: "▸"; display: inline-block; width: 15px; color: var(--soft); } .tree details[open] > summary .name::before { content: "▾"; }
.tree .leaf .name { padding-left: 15px; }
.tools { display: flex; gap: 12px; align-items: center; padding: 9px 14px; border-bottom: 1px solid var(--line); flex-wrap: wrap; }
input[type=search] { font: inherit; padding: 4px 10px; border: 1px solid var(--line); border-radius: 7px; background: var(--bg); color: inherit; min-width: 240px; }
button { font: inherit; padding: 3px 12px; border: 1px solid var(--line); border-radius: 7px; background: var(--head); color: inherit; cursor: pointer; } button:disabled { opacity: .4; }
.grow { flex: 1; }
@media (max-width: 800px) { header > div { flex-direction: column; align-items: flex-start; } .row { grid-template-columns: 1fr 70px 80px; } .row > :nth-child(n+4) { display: none; } .two { grid-template-columns: 1fr; } }
@media print { nav { display: none; } }
)css";

const char kReportScript[] = R"js(
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('node-data').textContent);
  const text = data.strings, pageRows = 100;
  for (const box of document.querySelectorAll('[data-nodes]')) {
    const rows = data.methods[+box.dataset.nodes];
    const [search, slow, count, previous, next, body] =
        ['.search', '.slow', '.count', '.previous', '.next', 'tbody'].map(s => box.querySelector(s));
    let found = [], page = 0;
    const cell = (row, kind, ...parts) => {
      const td = row.insertCell();
      td.className = kind;
      for (const [tag, value, style] of parts) {
        if (!value) continue;
        const e = document.createElement(tag);
        e.textContent = value;
        if (style) e.className = style;
        td.append(e, ' ');
      }
    };
    const draw = () => {
      const shown = found.slice(page * pageRows, (page + 1) * pageRows);
      body.textContent = '';
      for (const i of shown) {
        const [op, attributes, type, flops, backend, reason, aten, module, source] =
            rows[i].map((v, k) => k === 3 ? v : text[v]);
        const row = body.insertRow();
        cell(row, 'n soft', ['span', String(i)]);
        cell(row, '', ['code', op], ['code', attributes, 'soft']);
        cell(row, 'nowrap', ['code', type]);
        cell(row, 'n', ['span', flops]);
        cell(row, reason ? 'warn' : '', ['span', backend], ['span', reason && '· ' + reason]);
        cell(row, '', ['code', aten], ['code', module, 'soft'], ['span', source, 'soft']);
      }
      const last = Math.max(0, Math.ceil(found.length / pageRows) - 1);
      count.textContent = found.length + ' of ' + rows.length + ' nodes' +
          (last ? ', page ' + (page + 1) + ' of ' + (last + 1) : '');
      previous.disabled = page === 0;
      next.disabled = page >= last;
    };
    const filter = () => {
      const word = search.value.toLowerCase();
      found = [];
      rows.forEach((r, i) => {
        if (slow.checked && !text[r[5]]) return;
        if (word && !r.some((v, k) => k !== 3 && text[v].toLowerCase().includes(word))) return;
        found.push(i);
      });
      page = 0;
      draw();
    };
    search.addEventListener('input', filter);
    slow.addEventListener('change', filter);
    previous.addEventListener('click', () => { page--; draw(); });
    next.addEventListener('click', () => { page++; draw(); });
    box.addEventListener('toggle', () => { if (box.open) filter(); }, { once: true });
    if (box.open) filter();
  }
})();
)js";

}  // namespace lazyrt
