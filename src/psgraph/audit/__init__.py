"""An auditor that tries to break the promise: of psgraph's methods, and of yours.

Six kinds of attack, from the strongest to the most general:

* `replay`: the same method on two neighbouring streams, the second with every mechanism's output
  forced to that of the first. Whatever still differs depends on private edges.
* `enumeration` and `phases`: the exact distribution of what a phase shows, on all graphs of a few
  nodes.
* `bounds` and `black_box`: many runs on the worst neighbours; a lower bound of the ε that is
  really spent, with 95 % confidence.
* `sampler_battery` and `kernel_rules`: every exact sampler against its probabilities; charges,
  keystreams and the other rules of the kernel.
* `disk`: interrupted publications, and what two neighbouring streams leave on disk, byte by byte.
* `detectors`: deliberate privacy bugs, each of which one of the others has to find. They come from
  psgraph_lab.

`psgraph.audit.auditor.audit` runs them and returns an `Audit`. What passes is not proven to be
private: proofs are in ``proofs/``. What fails is not private.
"""
