(** The checker command's core as OCaml, from the functions that are proved sound.

    Trusted here: Coq's extraction, and the maps of numbers to OCaml's int and Zarith. Z.ggcd is mapped too, to
    Zarith's gcd: reducing fractions is where the time goes. *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZBigInt ZArith QArith Qcanon.
From Aesop Require Import Plans Machine Vectors Disturbance Kernel SetCertificates TightenedSets SystemCertificates NoPlan.

Extract Constant Z.ggcd =>
 "(fun a b -> let g = Z.gcd a b in
   if Z.equal g Z.zero then (g, (Z.zero, Z.zero)) else (g, (Z.divexact a g, Z.divexact b g)))".

Extraction Blacklist String List.
Extraction "core.ml"
  Q2Qc vec_of_list list_of_vec Qc_eq_dec not_above
  inclusion_outcome emptiness_outcome dimension_outcome boundedness_outcome support_outcome
  system_accepted all_sets plan_outcome recovery_set_outcome members_outcome vertices_outcome no_plan_outcome total_disturbance
  replayed Machine.start transition.
