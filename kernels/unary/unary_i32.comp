#version 450
#define T int
#define IS_I32
#include "kernels/unary/unary.glsl"
