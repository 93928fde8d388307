#version 450
#define T int
#define IS_I32
#include "kernels/scan/scan.glsl"
