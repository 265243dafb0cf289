(** Plans at the vertices of a box are plans at all its states: Eq. (3) is convex in state and inputs together.

    Theory 2 for one and the same Y, K and T; for different Y it is false. The kind `plans_at_vertices` of
    aesop_verified/evidence/recheck.py rests on this. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon.
From Aesop Require Import Plans Robust Vectors Farkas Disturbance Rounding Kernel SetCertificates TightenedSets SystemCertificates.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.

Section Mix.
  Variables State Input Name : Type.
  Variable next : State -> Input -> State.
  Variable XS : nat -> State -> Prop.
  Variable US : nat -> Input -> Prop.
  Variable XR : Name -> nat -> State -> Prop.
  (** Points between two states, and between two inputs, at one and the same weight. *)
  Variable mix_states : State -> State -> State.
  Variable mix : Input -> Input -> Input.
  Hypothesis next_mixes : forall x y u v, next (mix_states x y) (mix u v) = mix_states (next x u) (next y v).
  Hypothesis XS_convex : forall k x y, XS k x -> XS k y -> XS k (mix_states x y).
  Hypothesis US_convex : forall k u v, US k u -> US k v -> US k (mix u v).
  Hypothesis XR_convex : forall z k x y, XR z k x -> XR z k y -> XR z k (mix_states x y).

  Definition mix_inputs (us vs : list Input) : list Input := map (fun uv => mix (fst uv) (snd uv)) (combine us vs).

  Definition mix_plans (p q : Plan Input Name) : Plan Input Name := {|
    nominal := mix_inputs (nominal p) (nominal q);
    branches := map (fun bs => (fst (fst bs), mix_inputs (snd (fst bs)) (snd (snd bs)))) (combine (branches p) (branches q));
    consensus := consensus p;
    horizon := horizon p
  |}.

  Lemma mix_length us vs n : length us = n -> length vs = n -> length (mix_inputs us vs) = n.
  Proof. intros <- E; unfold mix_inputs; rewrite map_length, combine_length, E; apply Nat.min_id. Qed.

  Lemma nth_error_mix us vs k :
    nth_error (mix_inputs us vs) k
    = match nth_error us k, nth_error vs k with Some u, Some v => Some (mix u v) | _, _ => None end.
  Proof.
    revert us vs; induction k as [|k IH]; intros [|u us] [|v vs]; simpl; auto; [destruct (nth_error us k); reflexivity|].
    apply IH.
  Qed.

  Lemma roll_mix us : forall vs x y, length us = length vs ->
    roll next (mix_states x y) (mix_inputs us vs) = mix_states (roll next x us) (roll next y vs).
  Proof.
    induction us as [|u us IH]; intros [|v vs] x y L; try discriminate; [reflexivity|]; simpl in *.
    rewrite next_mixes; apply IH; lia.
  Qed.

  Lemma admissible_mix us : forall vs x y k, length us = length vs ->
    admissible_from next XS US k x us -> admissible_from next XS US k y vs ->
    admissible_from next XS US k (mix_states x y) (mix_inputs us vs).
  Proof.
    induction us as [|u us IH]; intros [|v vs] x y k L Hu Hv; try discriminate; [apply admissible_nil|].
    apply admissible_cons in Hu; apply admissible_cons in Hv; destruct Hu as [[X1 U1] Hu]; destruct Hv as [[X2 U2] Hv].
    apply admissible_cons; split; [auto|]; rewrite next_mixes; apply IH; auto.
  Qed.

  Lemma mixed_branch (bp bq : list (Name * list Input)) z ws : map fst bp = map fst bq ->
    In (z, ws) (map (fun bs => (fst (fst bs), mix_inputs (snd (fst bs)) (snd (snd bs)))) (combine bp bq)) ->
    exists us vs, In (z, us) bp /\ In (z, vs) bq /\ ws = mix_inputs us vs.
  Proof.
    revert bq; induction bp as [|[a us] bp IH]; intros [|[c vs] bq] E I; try discriminate; [destruct I|].
    simpl in E; injection E as -> E; destruct I as [I|I].
    - injection I as <- <-; exists us, vs; simpl; auto.
    - destruct (IH bq E I) as (us' & vs' & Iu & Iv & W); exists us', vs'; simpl; auto.
  Qed.

  Theorem mixed_plan_certified x y p q :
    certified next XS US XR x p -> certified next XS US XR y q ->
    options p = options q -> consensus p = consensus q -> horizon p = horizon q ->
    certified next XS US XR (mix_states x y) (mix_plans p q) /\ options (mix_plans p q) = options p.
  Proof.
    intros C D EO EK ET.
    assert (LB : length (branches p) = length (branches q)).
    { rewrite <- (map_length fst (branches p)), <- (map_length fst (branches q)); f_equal; exact EO. }
    assert (O : options (mix_plans p q) = options p).
    { unfold options, mix_plans; simpl; rewrite map_map; simpl; clear -LB.
      revert LB; generalize (branches q); induction (branches p) as [|b bs IH]; intros [|c cs] L; try discriminate; [reflexivity|].
      simpl; f_equal; apply IH; simpl in L; lia. }
    split; [|exact O]; constructor; simpl.
    - destruct (branches p) eqn:E; [destruct (some_option C E)|]; destruct (branches q); [discriminate|]; discriminate.
    - rewrite O; apply (options_distinct C).
    - apply (consensus_within_horizon C).
    - apply mix_length; [apply (nominal_length C) | rewrite ET; apply (nominal_length D)].
    - apply admissible_mix; [rewrite (nominal_length C), (nominal_length D), ET; reflexivity | apply C | apply D].
    - intros z ws I; apply (mixed_branch EO) in I; destruct I as (us & vs & Iu & Iv & ->).
      apply mix_length; [apply (recovery_length C Iu) | rewrite ET; apply (recovery_length D Iv)].
    - intros z ws I; apply (mixed_branch EO) in I; destruct I as (us & vs & Iu & Iv & ->).
      apply admissible_mix; [rewrite (recovery_length C Iu), (recovery_length D Iv), ET; reflexivity | |].
      + apply (recovery_admissible C Iu).
      + apply (recovery_admissible D Iv).
    - intros z ws I; apply (mixed_branch EO) in I; destruct I as (us & vs & Iu & Iv & ->).
      rewrite roll_mix by (rewrite (recovery_length C Iu), (recovery_length D Iv), ET; reflexivity).
      apply XR_convex; [apply (recovery_terminal C Iu) | rewrite ET; apply (recovery_terminal D Iv)].
    - intros z ws I; apply (mixed_branch EO) in I; destruct I as (us & vs & Iu & Iv & ->).
      change (nth_error (mix_inputs us vs) 0 = nth_error (mix_inputs (nominal p) (nominal q)) 0).
      rewrite !nth_error_mix, (first_input_shared C Iu), (first_input_shared D Iv); reflexivity.
    - intros z1 w1 z2 w2 I1 I2 k L; apply (mixed_branch EO) in I1; apply (mixed_branch EO) in I2.
      destruct I1 as (u1 & v1 & Iu1 & Iv1 & ->); destruct I2 as (u2 & v2 & Iu2 & Iv2 & ->).
      rewrite !nth_error_mix, (consensus_inclusive C Iu1 Iu2 L); rewrite EK in L.
      rewrite (consensus_inclusive D Iv1 Iv2 L); reflexivity.
  Qed.
End Mix.

Local Open Scope Qc_scope.

(** (1 - s) x + s y *)
Definition between {n} (s : Qc) (x y : point n) : point n := vadd (vscale (1 - s) x) (vscale s y).

Lemma dot_between n s (g x y : point n) : dot g (between s x y) = (1 - s) * dot g x + s * dot g y.
Proof. unfold between; rewrite dot_add, !dot_scale; reflexivity. Qed.

Lemma contains_convex n (P : polytope n) s x y : 0 <= s -> s <= 1 -> contains P x -> contains P y -> contains P (between s x y).
Proof.
  intros H0 H1 Cx Cy g h I; rewrite dot_between.
  assert (H2 : 0 <= 1 - s) by qc_order.
  pose proof (mult_le_nonneg H2 (Cx g h I)) as A; pose proof (mult_le_nonneg H0 (Cy g h I)) as B.
  apply Qcle_trans with ((1 - s) * h + s * h); [apply Qcplus_le_compat; assumption|].
  assert (E : (1 - s) * h + s * h = h) by ring; rewrite E; apply Qcle_refl.
Qed.

Lemma mat_vec_between p n (M : matrix p n) s x y : mat_vec M (between s x y) = between s (mat_vec M x) (mat_vec M y).
Proof.
  unfold between; induction p as [|p IH]; simpl; [reflexivity|]; rewrite IH, dot_add, !dot_scale; reflexivity.
Qed.

Lemma between_add n s (a c d e : point n) : vadd (between s a c) (between s d e) = between s (vadd a d) (vadd c e).
Proof.
  unfold between; induction n as [|n IH]; simpl; [reflexivity|]; rewrite IH; f_equal; ring.
Qed.

Lemma between_same n s (a : point n) : between s a a = a.
Proof.
  unfold between; induction n as [|n IH]; simpl; [destruct a; reflexivity|]; rewrite IH; destruct a; simpl; f_equal; ring.
Qed.

(** A property that passes to points between two points holds in a box when it holds at the vertices. *)
Lemma vertices_suffice d : forall (P : point d -> Prop) l u,
  (forall s x y, 0 <= s -> s <= 1 -> P x -> P y -> P (between s x y)) ->
  (forall v, In v (vertices l u) -> P v) -> forall x, in_box l u x -> P x.
Proof.
  induction d as [|d IH]; intros P l u Conv V x H; simpl in *; [destruct x; apply V; left; reflexivity|].
  destruct l as [a l], u as [c u], x as [z x]; simpl in *; destruct H as [[Ha Hc] H].
  assert (Side : forall e, (forall v, In v (vertices l u) -> P (e, v)) -> P (e, x)).
  { intros e He; apply (IH (fun v => P (e, v)) l u); [|exact He | exact H].
    intros s v w S0 S1 Pv Pw; pose proof (Conv s (e, v) (e, w) S0 S1 Pv Pw) as Pm.
    unfold between in Pm; simpl in Pm; assert (E : (1 - s) * e + s * e = e) by ring; rewrite E in Pm; exact Pm. }
  assert (Pa : P (a, x)) by (apply Side; intros v I; apply V, in_or_app; left; apply in_map; exact I).
  destruct (Qc_eq_dec a c) as [->|N].
  - rewrite (Qcle_antisym _ _ Hc Ha); exact Pa.
  - assert (Pc : P (c, x)) by (apply Side; intros v I; apply V, in_or_app; right; apply in_map; exact I).
    assert (L : 0 < c - a).
    { assert (Lac : a <= c) by (apply Qcle_trans with z; assumption).
      destruct (Qcle_lt_or_eq _ _ Lac) as [L|]; [qc_order | contradiction]. }
    assert (Nz : c - a <> 0) by (intros E; rewrite E in L; exact (Qclt_not_le _ _ L (Qcle_refl 0))).
    set (s := (z - a) / (c - a)).
    assert (Es : (c - a) * s = z - a) by (unfold s; field; exact Nz).
    assert (S0 : 0 <= s).
    { apply Qcnot_lt_le; intros Neg; pose proof (Qcmult_lt_compat_r _ _ (c - a) L Neg) as M.
      rewrite Qcmult_0_l, Qcmult_comm, Es in M; set (w := z) in *; qc_order. }
    assert (S1 : s <= 1).
    { apply Qcnot_lt_le; intros Big; pose proof (Qcmult_lt_compat_r _ _ (c - a) L Big) as M.
      rewrite Qcmult_1_l, (Qcmult_comm s), Es in M; qc_order. }
    pose proof (Conv s (a, x) (c, x) S0 S1 Pa Pc) as Pm.
    assert (E : between s ((a, x) : point (S d)) (c, x) = (z, x)).
    { change (between s ((a, x) : point (S d)) (c, x)) with (((1 - s) * a + s * c, between s x x) : point (S d)).
      rewrite between_same; f_equal.
      assert (E1 : (1 - s) * a + s * c = a + (c - a) * s) by ring; rewrite E1, Es; ring. }
    rewrite E in Pm; exact Pm.
Qed.

Section System.
  Variables n m : nat.
  Variable sys : ExactSystem n m nat.
  Notation W := (total_disturbance sys).
  Notation feasible := (Robust.robustly_feasible (vectors n) (vectors m) (mat_vec (A sys)) (mat_vec (B sys)) (b sys)
    (mat_vec (F sys)) (in_sum W) (contains (X sys)) (contains (input_set sys)) (X_R Nat.eq_dec sys)).

  (** What the command's answer "proved" for the kind plans_at_vertices means: from every state of the box there is a
      plan for one and the same Y and the full (K, T). *)
  Theorem plans_at_vertices_are_plans_everywhere l u plans :
    system_accepted sys = true -> vertices_outcome sys (all_sets sys) l u plans = Proved ->
    exists Y, forall x, in_box l u x ->
      exists p, options p = Y /\ consensus p = K sys /\ horizon p = T sys /\ feasible x p.
  Proof.
    intros Ok V; destruct (vertices_proved Ok V) as [Y HV]; exists Y.
    apply accepted_is_ordered in Ok; apply vertices_suffice; [|exact HV].
    intros s x y S0 S1 (p & Op & Kp & Tp & Fp) (q & Oq & Kq & Tq & Fq).
    assert (Cx : certified (Robust.model (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (b sys))
        (Robust.XS (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (mat_vec (F sys)) (in_sum W) (contains (X sys)))
        (Robust.US (vectors n) (vectors m) (mat_vec (A sys)) (mat_vec (B sys)) (mat_vec (F sys)) (in_sum W) (contains (input_set sys)))
        (Robust.XR (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (mat_vec (F sys)) (in_sum W) (X_R Nat.eq_dec sys))
        (between s x y) (mix_plans (between s) p q) /\ options (mix_plans (between s) p q) = options p).
    { apply mixed_plan_certified; auto; try congruence.
      - intros a c v w; unfold Robust.model; simpl; rewrite !mat_vec_between, !between_add.
        rewrite <- (between_same s (b sys)) at 1; rewrite between_add; reflexivity.
      - intros k a c Ha Hc; apply (tightened_is_pontryagin_difference _ _ _ Ok); apply contains_convex; auto;
          apply (tightened_is_pontryagin_difference _ _ _ Ok); assumption.
      - intros k a c Ha Hc; apply (tightened_inputs_is_pontryagin_difference _ _ _ Ok); apply contains_convex; auto;
          apply (tightened_inputs_is_pontryagin_difference _ _ _ Ok); assumption.
      - intros z k a c Ha Hc; unfold Robust.XR, X_R in *; destruct (recovery Nat.eq_dec sys z) as [r|].
        + apply (tightened_is_pontryagin_difference _ _ _ Ok); apply contains_convex; auto;
            apply (tightened_is_pontryagin_difference _ _ _ Ok); assumption.
        + intros r Hr; exact (Ha r Hr). }
    destruct Cx as [Cx Ox]; exists (mix_plans (between s) p q); split; [congruence|].
    split; [exact Kp | split; [exact Tp | exact Cx]].
  Qed.
End System.
