#version 450
#define T uvec2
#define IS_I64
#include "kernels/reduce/reduce.glsl"
