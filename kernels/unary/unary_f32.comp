#version 450
#define T float
#define IS_F32
#include "kernels/unary/unary.glsl"
