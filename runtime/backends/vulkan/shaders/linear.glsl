// Shaders in which each invocation does one piece of work, in the workgroups of Recorder::linear().
layout(local_size_x = 64) in;

/// The number of this invocation; some are beyond the last piece.
uint invocation() {
  return (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
         gl_LocalInvocationIndex;
}
