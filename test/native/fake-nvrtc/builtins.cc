// NVRTC opens its builtins by name; the fake one needs none.
