#version 450
#define T int
#include "kernels/matmul/matmul_integers.glsl"
