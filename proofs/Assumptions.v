(** What the headline theorems assume. Compiling this file prints one answer a group; each has to be
    "Closed under the global context": no axiom, nothing admitted. property_tests/test_proofs.py checks it. *)

From Aesop Require Import Plans Machine MachineProperties Theorem1 Counterexamples Robust.
From Aesop Require Import Vectors Farkas Independence Disturbance PlanCheck Rounding Kernel SetCertificates TightenedSets SystemCertificates NoPlan Convexity.

(* Eq. (3) and the shifted plan. *)
Definition eq_3 := (
  @shifted_plan_certified,
  @lengthened_plan_certified).
Print Assumptions eq_3.

(* Theorem 1, arbitrary model. *)
Definition theorem_1 := (
  @Theorem_1_claim_1,
  @Theorem_1_claim_2,
  @Theorem_1_claim_2_plan_in_force,
  @Theorem_1_claim_3,
  @Theorem_1_claim_3_any_decision,
  @Theorem_1_claim_3_silent_reasoner,
  @Theorem_1_claim_4_decision,
  @Theorem_1_claim_4_totality,
  @Theorem_1_claim_4_the_loop_runs,
  @Theorem_1_never_suspended,
  @inclusive_consensus_keeps_options_open_until_the_deadline).
Print Assumptions theorem_1.

(* Rows of the transition table. *)
Definition transition_table := (
  @every_step_is_certified,
  @alarm_starts_waiting,
  @waiting_since_the_alarm,
  @choice_is_engaged,
  @rejected_answer_engages_fallback,
  @late_answer_is_ignored,
  @recovering_goes_on).
Print Assumptions transition_table.

(* Deliberately wrong versions. *)
Definition wrong_versions := (
  @Y_empty_is_not_provable,
  @Y_empty_loses_claim_2,
  @a_y_outside_Y_is_not_provable,
  @exclusive_consensus_is_not_provable,
  @no_default_at_the_deadline_is_not_provable,
  @the_sent_input_does_not_correct).
Print Assumptions wrong_versions.

(* The plant is not the model. *)
Definition robust := (
  @tightened_sets_absorb_a_disturbance,
  @tightened_inputs_absorb_a_disturbance,
  @R_successor_contains,
  @R_successor_contained,
  @lengthened_plan_stays_in_tightened_sets,
  @correction_absorbs_the_disturbance,
  @shifted_plan_robustly_certified,
  @Robust_Theorem_1_claim_1,
  @Robust_Theorem_1_claim_2,
  @Robust_Theorem_1_claim_3,
  @Robust_Theorem_1_claim_3_any_decision,
  @Robust_Theorem_1_claim_4_decision,
  @Robust_Theorem_1_never_suspended,
  @Robust_true_state_claim_1,
  @Robust_true_state_claim_3).
Print Assumptions robust.

(* The kernel's checks over the rationals. *)
Definition checks := (
  @check_contains_decides,
  @check_inclusion_sound,
  @check_escape_sound,
  @check_empty_sound,
  @check_support_sound,
  @check_box_sound,
  @check_independent_sound,
  @check_dimension_sound,
  @support_bounds,
  @support_attained,
  @tightened_is_pontryagin_difference,
  @tightened_inputs_is_pontryagin_difference,
  @rounding_stays_in_U,
  @projection_is_inside,
  @check_plan_decides,
  @check_recovery_set_sound,
  @kernel_check_plan_decides).
Print Assumptions checks.

(* Theorem 1 about what the kernel computes. *)
Definition kernel_theorem := (
  @kernel_planner_laws,
  @Kernel_every_input_is_in_U,
  @Kernel_Theorem_1_claim_1,
  @Kernel_Theorem_1_claim_2,
  @Kernel_Theorem_1_claim_3,
  @Kernel_Theorem_1_claim_4).
Print Assumptions kernel_theorem.

(* What the checker command answers. *)
Definition checker := (
  @inclusion_proved,
  @inclusion_refuted,
  @emptiness_proved,
  @emptiness_refuted,
  @boundedness_proved,
  @boundedness_refuted,
  @dimension_proved,
  @support_proved,
  @recovery_set_proved,
  @recovery_set_refuted,
  @members_proved,
  @quick_check_plan_is_the_kernels,
  @plan_outcome_sound,
  @vertices_proved,
  @check_no_sequence_sound,
  @no_plan_proved,
  @mixed_plan_certified,
  @plans_at_vertices_are_plans_everywhere).
Print Assumptions checker.
