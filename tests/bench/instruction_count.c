// A plugin of QEMU (TCG) that counts the guest's instructions: qemu-... -plugin
// instruction_count.so,out=FILE writes their number into FILE at the end. Of programs with one
// thread: the count is not atomic.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// What is used of QEMU's plugin interface, version 1 (QEMU 4.2 to 8.2); Debian ships no header of
// it.
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
typedef struct qemu_info_t qemu_info_t;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t id,
                                                            struct qemu_plugin_tb* block));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, enum qemu_plugin_op op,
                                              void* counter, uint64_t add);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
                                    void (*callback)(qemu_plugin_id_t id, void* data), void* data);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = 1;

static uint64_t count;
static char out[4096];

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &count,
                                           qemu_plugin_tb_n_insns(block));
}

static void on_end(qemu_plugin_id_t id, void* data) {
  (void)id, (void)data;
  FILE* file = fopen(out, "w");
  if (file == NULL) return;
  fprintf(file, "%llu\n", (unsigned long long)count);
  fclose(file);
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc,
                                 char** argv) {
  (void)info;
  if (argc != 1 || strncmp(argv[0], "out=", 4) != 0 || strlen(argv[0]) >= sizeof(out)) {
    fprintf(stderr, "instruction_count: one argument is needed, out=FILE\n");
    return 1;
  }
  strcpy(out, argv[0] + 4);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
  qemu_plugin_register_atexit_cb(id, on_end, NULL);
  return 0;
}
