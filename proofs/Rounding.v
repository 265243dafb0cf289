(** Rounding of inputs to multiples of the quantum, and the inputs whose rounding stays in U.

    kernel: model.quantised, model.grid_shrunk; spec/README.md, "What the kernel adds up in W". *)

From Coq Require Import List Arith Bool Lia QArith Qcanon Qround Lqa.
From Aesop Require Import Robust Vectors Farkas Disturbance.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.
Local Open Scope Qc_scope.

Definition of_Z (z : Z) : Qc := Q2Qc (inject_Z z).
Definition floor (a : Qc) : Qc := of_Z (Qfloor (this a)).
Definition half : Qc := Q2Qc (1 # 2).

Lemma this_of_Z z : (this (of_Z z) == inject_Z z)%Q.
Proof. apply Qred_correct. Qed.

Lemma floor_le a : floor a <= a.
Proof. unfold Qcle, floor; rewrite this_of_Z; apply Qfloor_le. Qed.

Lemma floor_gt a : a < floor a + 1.
Proof.
  unfold Qclt, floor; rewrite this_plus, this_of_Z; pose proof (Qlt_floor (this a)) as H.
  rewrite inject_Z_plus in H; exact H.
Qed.

Arguments floor_le : clear implicits.
Arguments floor_gt : clear implicits.

(** Between an integer and the next there is no other. *)
Lemma floor_of_bound a z : a < of_Z z + 1 -> floor a <= of_Z z.
Proof.
  intros H; unfold floor, Qcle; rewrite !this_of_Z, <- Zle_Qle.
  assert (L : (Qfloor (this a) < z + 1)%Z); [|lia].
  rewrite Zlt_Qlt; apply Qle_lt_trans with (this a); [apply Qfloor_le|].
  unfold Qclt in H; rewrite this_plus, this_of_Z in H; rewrite inject_Z_plus; exact H.
Qed.

Lemma floor_of_lower_bound a z : of_Z z <= a -> of_Z z <= floor a.
Proof.
  intros H; unfold floor, Qcle; rewrite !this_of_Z, <- Zle_Qle.
  unfold Qcle in H; rewrite this_of_Z in H.
  apply Qfloor_resp_le in H; rewrite Qfloor_Z in H; exact H.
Qed.

Lemma half_and_half : half + half = 1.
Proof. apply Qc_is_canon; rewrite this_plus; reflexivity. Qed.

Section Quantum.
  Variable q : Qc.
  Hypothesis q_positive : 0 < q.

  Lemma q_cancels a : q * (a / q) = a.
  Proof. field; intros E; rewrite E in q_positive; exact (Qclt_not_le _ _ q_positive (Qcle_refl 0)). Qed.

  Lemma q_nonneg : 0 <= q.
  Proof. apply Qclt_le_weak, q_positive. Qed.

  (** q floor(v / q + 1/2). *)
  Definition rounded (v : Qc) : Qc := q * floor (v / q + half).

  Lemma rounded_near v : rounded v - v <= q * half /\ v - rounded v <= q * half.
  Proof.
    unfold rounded; set (f := floor (v / q + half)).
    pose proof (mult_le_nonneg q_nonneg (floor_le (v / q + half))) as L.
    pose proof (mult_le_nonneg q_nonneg (Qclt_le_weak _ _ (floor_gt (v / q + half)))) as M; fold f in L, M.
    assert (E : q * (v / q + half) = v + q * half) by (rewrite Qcmult_plus_distr_r, q_cancels; reflexivity).
    assert (E2 : q * (f + 1) = q * f + (q * half + q * half)).
    { rewrite Qcmult_plus_distr_r; f_equal; rewrite <- Qcmult_plus_distr_r, half_and_half; reflexivity. }
    rewrite E in L, M; rewrite E2 in M; set (qf := q * f) in *; set (qh := q * half) in *.
    split; qc_order.
  Qed.

  (** Rounding to nearest never crosses a multiple of the quantum. *)
  Lemma rounded_below_multiple v z : v <= q * of_Z z -> rounded v <= q * of_Z z.
  Proof.
    intros H; apply mult_le_nonneg; [apply q_nonneg|]; apply floor_of_bound.
    assert (D : v / q <= of_Z z).
    { apply Qcnot_lt_le; intros L.
      pose proof (Qcmult_lt_compat_r _ _ q q_positive L) as M.
      assert (E : v / q * q = v) by (rewrite Qcmult_comm; apply q_cancels).
      rewrite E in M; rewrite Qcmult_comm in M; exact (Qclt_not_le _ _ M H). }
    assert (Hh : half < 1) by reflexivity.
    set (a := v / q) in *; set (c := of_Z z) in *; set (h := half) in *; clearbody a c h; clear -D Hh; qc_order.
  Qed.

  Lemma rounded_above_multiple v z : q * of_Z z <= v -> q * of_Z z <= rounded v.
  Proof.
    intros H; apply mult_le_nonneg; [apply q_nonneg|]; apply floor_of_lower_bound.
    assert (D : of_Z z <= v / q).
    { apply Qcnot_lt_le; intros L.
      pose proof (Qcmult_lt_compat_r _ _ q q_positive L) as M.
      assert (E : v / q * q = v) by (rewrite Qcmult_comm; apply q_cancels).
      rewrite E in M; rewrite Qcmult_comm in H; exact (Qclt_not_le _ _ M H). }
    assert (Hh : 0 < half) by reflexivity.
    set (a := v / q) in *; set (c := of_Z z) in *; set (h := half) in *; clearbody a c h; clear -D Hh; qc_order.
  Qed.

  (** Component by component. kernel: model.quantised. *)
  Fixpoint rounded_vector {m} : point m -> point m :=
    match m with O => fun _ => tt | S m => fun u => (rounded (fst u), rounded_vector (snd u)) end.

  Fixpoint constant (m : nat) (c : Qc) : point m := match m with O => tt | S m => (c, constant m c) end.

  (** The rounding error is in [-q/2, q/2]^m. *)
  Lemma rounding_error_in_box m (u : point m) :
    in_box (constant m (- (q * half))) (constant m (q * half)) (vadd (rounded_vector u) (vopp u)).
  Proof.
    unfold vopp; induction m as [|m IH]; simpl; [exact I|]; destruct u as [a u]; simpl; split; [|apply IH].
    destruct (rounded_near a) as [L M].
    assert (E : rounded a + - (1) * a = rounded a - a) by ring; rewrite E; clear E.
    set (qh := q * half) in *; set (r := rounded a) in *; split; qc_order.
  Qed.

  (** * The inputs whose rounding stays in U *)

  Definition absolute (a : Qc) : Qc := if leb 0 a then a else - a.

  Fixpoint absolute_sum {m} : point m -> Qc :=
    match m with O => fun _ => 0 | S m => fun g => absolute (fst g) + absolute_sum (snd g) end.

  Fixpoint nonzeros {m} : point m -> nat :=
    match m with O => fun _ => O | S m => fun g => ((if Qc_eq_dec (fst g) 0 then 0 else 1) + nonzeros (snd g))%nat end.

  (** One row g u <= h. A row with one non-zero entry gets the largest multiple of q below its bound, any other
      row shrinks by (q / 2) sum |g_i|. kernel: model.grid_shrunk. *)
  Definition shrunk_row {m} (row : point m * Qc) : point m * Qc :=
    let (g, h) := row in
    if Nat.eqb (nonzeros g) 1 then (vscale (/ absolute_sum g) g, q * floor (h / absolute_sum g / q))
    else (g, h - q * half * absolute_sum g).

  Definition grid_shrunk {m} (U : polytope m) : polytope m := map shrunk_row U.

  Lemma absolute_bounds a d b : - b <= d -> d <= b -> a * d <= b * absolute a.
  Proof.
    intros L M; unfold absolute; destruct (leb 0 a) eqn:E.
    - apply leb_spec in E; rewrite (Qcmult_comm b); apply mult_le_nonneg; auto.
    - assert (N : a <= 0).
      { apply Qclt_le_weak, ltb_spec; unfold ltb; rewrite E; reflexivity. }
      pose proof (mult_le_nonpos N L) as H.
      assert (E1 : a * - b = b * - a) by ring; rewrite E1 in H; exact H.
  Qed.

  Lemma box_change_is_small m (g d : point m) b :
    in_box (constant m (- b)) (constant m b) d -> dot g d <= b * absolute_sum g.
  Proof.
    induction m as [|m IH]; simpl; [intros _; rewrite Qcmult_0_r; apply Qcle_refl|].
    intros [[L M] H]; rewrite Qcmult_plus_distr_r; apply Qcplus_le_compat; [apply absolute_bounds; auto | apply IH; exact H].
  Qed.

  Lemma no_nonzeros m (g u : point m) : nonzeros g = O -> dot g u = 0 /\ absolute_sum g = 0.
  Proof.
    induction m as [|m IH]; simpl; [auto|]; destruct (Qc_eq_dec (fst g) 0) as [E|E]; [|discriminate].
    intros H; destruct (IH (snd g) (snd u) H) as [D A]; rewrite E, D, A; unfold absolute; simpl.
    split; [ring | reflexivity].
  Qed.

  Lemma absolute_positive a : a <> 0 -> 0 < absolute a.
  Proof.
    intros N; unfold absolute; destruct (leb 0 a) eqn:E.
    - apply leb_spec in E; destruct (Qcle_lt_or_eq _ _ E) as [L|L]; [exact L | congruence].
    - assert (L : a < 0) by (apply ltb_spec; unfold ltb; rewrite E; reflexivity); qc_order.
  Qed.

  Lemma absolute_zero : absolute 0 = 0.
  Proof. reflexivity. Qed.

  Lemma one_nonzero m (g : point m) : nonzeros g = 1%nat ->
    exists c (pick : point m -> Qc), c <> 0 /\ absolute_sum g = absolute c
      /\ (forall u, dot g u = c * pick u) /\ (forall u, pick (rounded_vector u) = rounded (pick u)).
  Proof.
    induction m as [|m IH]; simpl; [discriminate|]; destruct (Qc_eq_dec (fst g) 0) as [E|E]; intros H.
    - destruct (IH (snd g) H) as (c & pick & N & A & D & P); exists c, (fun u => pick (snd u)).
      split; [exact N|]; split; [rewrite E, A, absolute_zero; ring|]; split.
      + intros u; rewrite E, D, Qcmult_0_l, Qcplus_0_l; reflexivity.
      + intros u; apply P.
    - injection H as H; exists (fst g), (fun u => fst u); split; [exact E|].
      destruct (no_nonzeros (vzero m) H) as [_ A]; split; [rewrite A, Qcplus_0_r; reflexivity|]; split.
      + intros u; destruct (no_nonzeros (snd u) H) as [D _]; transitivity (fst g * fst u + 0); [f_equal; exact D | apply Qcplus_0_r].
      + reflexivity.
  Qed.

  Lemma of_Z_opp z : of_Z (- z) = - of_Z z.
  Proof. apply Qc_is_canon; rewrite this_opp, !this_of_Z, inject_Z_opp; reflexivity. Qed.

  Theorem rounding_stays_in_U m (U : polytope m) u : contains (grid_shrunk U) u -> contains U (rounded_vector u).
  Proof.
    intros H g h I; pose proof (in_map shrunk_row U _ I) as J.
    destruct (shrunk_row (g, h)) as [g' h'] eqn:Row; pose proof (H g' h' J) as R; revert R.
    unfold shrunk_row in Row; destruct (Nat.eqb_spec (nonzeros g) 1) as [One|Many]; injection Row as <- <-.
    - destruct (one_nonzero One) as (c & pick & N & A & D & P).
      rewrite dot_scale_left, !D, P, A; set (s := absolute c); set (v := pick u).
      assert (Ps : 0 < s) by (apply absolute_positive; exact N).
      assert (Ns : s <> 0) by (intros E; rewrite E in Ps; exact (Qclt_not_le _ _ Ps (Qcle_refl 0))).
      intros R; set (k := Qfloor (this (h / s / q))); change (floor (h / s / q)) with (of_Z k) in R.
      assert (Qk : q * of_Z k <= h / s).
      { pose proof (mult_le_nonneg q_nonneg (floor_le (h / s / q))) as L; rewrite q_cancels in L; exact L. }
      assert (Fin : / s * (c * rounded v) <= q * of_Z k -> c * rounded v <= h).
      { intros L; pose proof (mult_le_nonneg (Qclt_le_weak _ _ Ps) (Qcle_trans _ _ _ L Qk)) as M.
        assert (E1 : s * (/ s * (c * rounded v)) = c * rounded v) by (field; exact Ns).
        assert (E2 : s * (h / s) = h) by (field; exact Ns).
        rewrite E1, E2 in M; exact M. }
      apply Fin; unfold s, absolute in *; destruct (leb 0 c) eqn:E.
      + assert (E1 : forall a, / c * (c * a) = a) by (intros a; field; exact N).
        rewrite E1 in *; apply rounded_below_multiple; exact R.
      + assert (E1 : forall a, / - c * (c * a) = - a) by (intros a; field; exact Ns).
        rewrite E1 in *.
        assert (L : q * of_Z (- k) <= v).
        { rewrite of_Z_opp; assert (E2 : q * - of_Z k = - (q * of_Z k)) by ring; rewrite E2.
          set (qk := q * of_Z k) in *; qc_order. }
        pose proof (rounded_above_multiple L) as M; rewrite of_Z_opp in M.
        assert (E2 : q * - of_Z k = - (q * of_Z k)) by ring; rewrite E2 in M.
        set (qk := q * of_Z k) in *; set (r := rounded v) in *; qc_order.
    - intros R; pose proof (box_change_is_small (g := g) (rounding_error_in_box u)) as S.
      assert (E : rounded_vector u = vadd u (vadd (rounded_vector u) (vopp u))) by (symmetry; apply (add_back (vectors m))).
      rewrite E, dot_add; set (a := dot g u) in *; set (b := dot g _) in *.
      set (e := q * half * absolute_sum g) in *; qc_order.
  Qed.
End Quantum.
