(** What each headline theorem assumes. Compiling this file prints one answer a line; every one has to be
    "Closed under the global context": no axiom, nothing admitted. property_tests/test_proofs.py checks it. *)

From Aesop Require Import Plans Machine MachineProperties Theorem1 Counterexamples Robust.
From Aesop Require Import Vectors Farkas Disturbance PlanCheck Rounding Kernel.

(* Eq. (3) and the shifted plan. *)
Print Assumptions shifted_plan_certified.
Print Assumptions lengthened_plan_certified.

(* Theorem 1, arbitrary model. *)
Print Assumptions Theorem_1_claim_1.
Print Assumptions Theorem_1_claim_2.
Print Assumptions Theorem_1_claim_2_plan_in_force.
Print Assumptions Theorem_1_claim_3.
Print Assumptions Theorem_1_claim_3_any_decision.
Print Assumptions Theorem_1_claim_3_silent_reasoner.
Print Assumptions Theorem_1_claim_4_decision.
Print Assumptions Theorem_1_claim_4_totality.
Print Assumptions Theorem_1_claim_4_the_loop_runs.
Print Assumptions Theorem_1_never_suspended.
Print Assumptions inclusive_consensus_keeps_options_open_until_the_deadline.

(* Rows of the transition table. *)
Print Assumptions every_step_is_certified.
Print Assumptions alarm_starts_waiting.
Print Assumptions waiting_since_the_alarm.
Print Assumptions choice_is_engaged.
Print Assumptions rejected_answer_engages_fallback.
Print Assumptions late_answer_is_ignored.
Print Assumptions recovering_goes_on.

(* Deliberately wrong versions. *)
Print Assumptions Y_empty_is_not_provable.
Print Assumptions Y_empty_loses_claim_2.
Print Assumptions a_y_outside_Y_is_not_provable.
Print Assumptions exclusive_consensus_is_not_provable.
Print Assumptions no_default_at_the_deadline_is_not_provable.

(* The plant is not the model. *)
Print Assumptions tightened_sets_absorb_a_disturbance.
Print Assumptions tightened_inputs_absorb_a_disturbance.
Print Assumptions R_successor_contains.
Print Assumptions R_successor_contained.
Print Assumptions lengthened_plan_stays_in_tightened_sets.
Print Assumptions correction_absorbs_the_disturbance.
Print Assumptions shifted_plan_robustly_certified.
Print Assumptions Robust_Theorem_1_claim_1.
Print Assumptions Robust_Theorem_1_claim_2.
Print Assumptions Robust_Theorem_1_claim_3.
Print Assumptions Robust_Theorem_1_claim_3_any_decision.
Print Assumptions Robust_Theorem_1_claim_4_decision.
Print Assumptions Robust_Theorem_1_never_suspended.
Print Assumptions Robust_true_state_claim_1.
Print Assumptions Robust_true_state_claim_3.

(* The kernel's checks over the rationals. *)
Print Assumptions check_contains_decides.
Print Assumptions check_inclusion_sound.
Print Assumptions check_escape_sound.
Print Assumptions check_empty_sound.
Print Assumptions check_support_sound.
Print Assumptions check_box_sound.
Print Assumptions support_bounds.
Print Assumptions support_attained.
Print Assumptions tightened_is_pontryagin_difference.
Print Assumptions tightened_inputs_is_pontryagin_difference.
Print Assumptions rounding_stays_in_U.
Print Assumptions projection_is_inside.
Print Assumptions check_plan_decides.
Print Assumptions check_recovery_set_sound.
Print Assumptions kernel_check_plan_decides.

(* Theorem 1 about what the kernel computes. *)
Print Assumptions kernel_planner_laws.
Print Assumptions Kernel_every_input_is_in_U.
Print Assumptions Kernel_Theorem_1_claim_1.
Print Assumptions Kernel_Theorem_1_claim_2.
Print Assumptions Kernel_Theorem_1_claim_3.
Print Assumptions Kernel_Theorem_1_claim_4.
