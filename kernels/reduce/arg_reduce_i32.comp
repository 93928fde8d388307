#version 450
#define T int
#define IS_I32
#include "kernels/reduce/arg_reduce.glsl"
