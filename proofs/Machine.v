(** The transition function of the completed Algorithm 1, row for row as in kernel/machine.py.

    Nothing here is proved; MachineProperties.v proves what it does. The function is computable, and total:
    every step yields an input whatever the measurement, the answer, the candidates, the alarm and the operator
    are (Theorem 1, claim 4). Names of types and functions are those of kernel/events.py and kernel/machine.py. *)

From Coq Require Import List Arith Bool.
From Aesop Require Import Plans.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.

(** A row of the transition table; the comment is its id in spec/transitions.toml. kernel: events.Row. *)
Inductive Row : Type :=
| row_nominal              (* TR-NOMINAL *)
| row_alarm                (* TR-ALARM *)
| row_waiting              (* TR-WAITING *)
| row_answer_clear         (* TR-ANSWER-CLEAR *)
| row_answer_choice        (* TR-ANSWER-CHOICE *)
| row_answer_rejected      (* TR-ANSWER-REJECTED *)
| row_deadline             (* TR-DEADLINE *)
| row_answer_ignored       (* TR-ANSWER-IGNORED *)
| row_alarm_kept           (* TR-ALARM-KEPT *)
| row_alarm_again          (* TR-ALARM-AGAIN *)
| row_alarm_logged         (* TR-ALARM-LOGGED *)
| row_recovering           (* TR-RECOVERING *)
| row_recovered            (* TR-RECOVERED *)
| row_plan_refused         (* TR-PLAN-REFUSED *)
| row_shifted_plan         (* TR-SHIFTED-PLAN *)
| row_suspended            (* TR-SUSPENDED *)
| row_certified_again      (* TR-CERTIFIED-AGAIN *)
| row_missing_measurement  (* TR-MISSING-MEASUREMENT *)
| row_detector_fault       (* TR-DETECTOR-FAULT *)
| row_override             (* TR-OVERRIDE *)
| row_hold                 (* TR-HOLD *)
| row_resume               (* TR-RESUME *)
| row_resume_refused       (* TR-RESUME, with the detail "refused" *)
.

(** The detector fired; [fault] when it raised, was late or had no observation. kernel: events.Alarm. *)
Record Alarm : Type := { fault : bool; observation : nat }.

Section Machine.
  Variables State Input Name : Type.
  Notation Plan := (Plan Input Name).

  (** kernel: model.System, as far as the transition function reads it. [default_input] and [default_name] only
      make functions total; no reachable step returns them. *)
  Record System : Type := {
    name_eq_dec : forall a b : Name, {a = b} + {a <> b};
    names : list Name;
    fallback_order : list Name;
    full_horizon : nat;                              (* T *)
    full_consensus : nat;                            (* K *)
    next_state : State -> Input -> State;            (* A x + B u + b, or any model f *)
    law : Name -> State -> Input;                    (* kappa_y *)
    corrected : State -> State -> list Input -> list Input;   (* u_{k+1} + F Acl^k w *)
    check : State -> Plan -> bool;                   (* plan.check_plan *)
    short_enough : Plan -> bool;                     (* Plan.is_short, for plans that are proposed *)
    quantised : Input -> Input;                      (* model.quantised *)
    projected : Input -> Input;                      (* machine.projected, from the system's anchor *)
    first_state_ok : State -> bool;                  (* first_state_set.contains *)
    prediction_is_exact : bool;                      (* measured_disturbance.is_zero *)
    default_input : Input;
    default_name : Name
  }.

  (** The reasoner's answer; 0 of the paper is [Clear]. kernel: events.Answer. *)
  Inductive Answer : Type :=
  | Clear (trigger : nat)
  | Choice (trigger : nat) (name : Name)
  | RejectedAnswer (trigger : nat).

  Definition trigger_of (a : Answer) : nat :=
    match a with Clear t => t | Choice t _ => t | RejectedAnswer t => t end.

  Inductive Operator : Type := Override (u : Input) | Hold | Resume.

  (** k = t - t_anom. kernel: events.Mode. *)
  Inductive Mode : Type :=
  | Nominal
  | Waiting (options : list Name) (k : nat) (trigger : nat) (kept_alarm : option Alarm)
  | Recovering (name : Name) (k : nat)
  | Suspended (name : Name) (k : nat).

  Record Question : Type := { asked_trigger : nat; asked_observation : nat; asked_options : list Name }.

  (** What a plan must be for. kernel: events.Request. *)
  Record Request : Type := {
    wanted : list Name;
    exact : bool;
    wanted_consensus : nat;
    wanted_horizon : nat
  }.

  (** Everything that a step reads, each read once. kernel: events.StepInput. *)
  Record StepInput : Type := {
    measurement : option State;
    answer : option Answer;
    candidates : list Plan;
    alarm : option Alarm;
    operator : option Operator
  }.

  (** kernel: plan.HeldPlan; its next_state is computed where it is used. *)
  Record HeldPlan : Type := { plan : Plan; origin : State }.

  (** kernel: events.MachineState. *)
  Record MachineState : Type := {
    step : nat;
    mode : Mode;
    held : HeldPlan;
    sent : Input;
    next_trigger : nat
  }.

  (** kernel: events.StepResult. *)
  Record StepResult : Type := {
    after : MachineState;
    input : Input;
    is_certified : bool;
    events : list Row;
    question : option Question
  }.

  Variable S : System.

  Definition first (p : Plan) : Input := first_input (default_input S) p.

  Definition mem (y : Name) (Y : list Name) : bool := if in_dec (name_eq_dec S) y Y then true else false.
  Definition subset (Y Z : list Name) : bool := forallb (fun y => mem y Z) Y.

  (** kernel: Request.admits. *)
  Definition admits (r : Request) (p : Plan) : bool :=
    (if exact r then (if list_eq_dec (name_eq_dec S) (options p) (wanted r) then true else false)
     else subset (options p) (wanted r))
    && Nat.eqb (consensus p) (wanted_consensus r) && Nat.eqb (horizon p) (wanted_horizon r).

  (** kernel: System.fallback, the first of the fallback order that is in Y. *)
  Definition fallback (Y : list Name) : Name := hd (default_name S) (filter (fun y => mem y Y) (fallback_order S)).

  (** kernel: plan.shifted_plan. *)
  Definition shifted_plan (h : HeldPlan) (x : State) (Y : list Name) (K T : nat) : Plan :=
    shifted (next_state S) (law S) (name_eq_dec S) (default_input S) (corrected S) (plan h) (origin h) x Y K T.

  (** kernel: machine._Intent. *)
  Record Intent : Type := {
    aim : Mode;
    request : Request;
    name_if_suspended : Name;
    intent_k : nat;
    intent_events : list Row
  }.

  Definition start_request : Request :=
    {| wanted := names S; exact := false; wanted_consensus := full_consensus S; wanted_horizon := full_horizon S |}.

  (** kernel: machine._recover. T - k is max(0, T - k). *)
  Definition recover (y : Name) (k : nat) (rows : list Row) : Intent := {|
    aim := Recovering y k;
    request := {| wanted := [y]; exact := true; wanted_consensus := 0; wanted_horizon := full_horizon S - k |};
    name_if_suspended := y;
    intent_k := k;
    intent_events := rows
  |}.

  Definition overridden (i : StepInput) : bool := match operator i with Some (Override _) => true | _ => false end.
  Definition holding (i : StepInput) : bool := match operator i with Some Hold => true | _ => false end.
  Definition resuming (i : StepInput) : bool := match operator i with Some Resume => true | _ => false end.
  (** An override or a hold: the operator does not wait for the reasoner. *)
  Definition commanded (i : StepInput) : bool := overridden i || holding i.
  Definition is_missing (i : StepInput) : bool := match measurement i with None => true | Some _ => false end.
  Definition when (b : bool) (r : Row) : list Row := if b then [r] else [].

  (** kernel: machine._after_waiting; k >= 1 is the step now, [a] an answer to this question. *)
  Definition after_waiting (Y : list Name) (k trigger : nat) (kept : option Alarm) (i : StepInput)
      (a : option Answer) (rows : list Row) : Intent :=
    let y0 := fallback Y in
    let undecided :=
      if is_missing i || commanded i then
        recover y0 k (rows ++ match a with Some _ => [row_answer_ignored] | None => [] end)
      else match a with
        | Some (Clear _) => {| aim := Nominal; request := start_request; name_if_suspended := y0; intent_k := k;
                               intent_events := rows ++ [row_answer_clear] |}
        | _ => if full_consensus S + 1 <=? k then recover y0 k (rows ++ [row_deadline])
               else {| aim := Waiting Y k trigger kept;
                       request := {| wanted := Y; exact := true; wanted_consensus := full_consensus S - k;
                                     wanted_horizon := full_horizon S - k |};
                       name_if_suspended := y0; intent_k := k; intent_events := rows ++ [row_waiting] |}
        end in
    match a with
    | Some (Choice _ y) =>
        if mem y Y then recover y k (rows ++ [row_answer_choice]) else recover y0 k (rows ++ [row_answer_rejected])
    | Some (RejectedAnswer _) => recover y0 k (rows ++ [row_answer_rejected])
    | _ => undecided
    end.

  (** The answer that counts: one to the open question (theory 3: another trigger id is ignored and logged). *)
  Definition counted_answer (m : Mode) (i : StepInput) : option Answer :=
    match m, answer i with
    | Waiting _ _ trigger _, Some a => if Nat.eqb (trigger_of a) trigger then Some a else None
    | _, _ => None
    end.

  Definition answer_ignored (m : Mode) (i : StepInput) : bool :=
    match answer i, counted_answer m i with Some _, None => true | _, _ => false end.

  (** kernel: machine._intent, the rows of theory 3 before certification. *)
  Definition intent (s : MachineState) (i : StepInput) : Intent :=
    let rows := when (answer_ignored (mode s) i) row_answer_ignored ++ when (overridden i) row_override
                ++ when (holding i) row_hold ++ when (is_missing i) row_missing_measurement in
    match mode s with
    | Recovering y k =>
        recover y (k + 1) (rows ++ [if full_horizon S <? k + 1 then row_recovered else row_recovering])
    | Suspended y k => recover y (k + 1) rows
    | Waiting Y k trigger kept => after_waiting Y (k + 1) trigger kept i (counted_answer (mode s) i) rows
    | Nominal =>
        let y0 := fallback (options (plan (held s))) in
        if is_missing i || commanded i then recover y0 1 rows
        else {| aim := Nominal; request := start_request; name_if_suspended := y0; intent_k := 1;
                intent_events := rows ++ [row_nominal] |}
    end.

  (** kernel: machine._certified, the plan; [ours] for shifted plans, whose numbers may be longer than a solver's. *)
  Definition first_certified (ours : bool) (x : State) (r : Request) (ps : list Plan) : option Plan :=
    find (fun p => admits r p && (ours || short_enough S p) && check S x p) ps.

  (** kernel: machine._certified, its events: one for each plan refused before the first certified one; those that
      answer another request are passed over in silence when [others_may_follow]. *)
  Fixpoint refusals (ours others_may_follow : bool) (x : State) (r : Request) (ps : list Plan) : list Row :=
    match ps with
    | [] => []
    | p :: ps =>
        if admits r p then
          if (ours || short_enough S p) && check S x p then []
          else row_plan_refused :: refusals ours others_may_follow x r ps
        else when (negb others_may_follow) row_plan_refused ++ refusals ours others_may_follow x r ps
    end.

  (** kernel: machine._shifted_plans. *)
  Definition shifted_plans (s : MachineState) (x : State) (r : Request) : list Plan :=
    if exact r then [shifted_plan (held s) x (wanted r) (wanted_consensus r) (wanted_horizon r)]
    else map (fun y => shifted_plan (held s) x [y] (wanted_consensus r) (wanted_horizon r))
           (filter (fun y => mem y (options (plan (held s)))) (fallback_order S)).

  (** kernel: machine._finish, the detector's turn, then the input, rounded to the quantum. *)
  Definition finish (t : nat) (m : Mode) (h : HeldPlan) (trigger : nat) (detector : option Alarm)
      (rows : list Row) (u : Input) (ok : bool) : StepResult :=
    let result m' q rows' := {|
      after := {| step := t; mode := m'; held := h; sent := quantised S u;
                  next_trigger := match q with Some _ => trigger + 1 | None => trigger end |};
      input := quantised S u; is_certified := ok; events := rows'; question := q |} in
    match detector with
    | None => result m None rows
    | Some a =>
        let rows := rows ++ when (fault a) row_detector_fault in
        match m with
        | Nominal =>
            let Y := options (plan h) in
            result (Waiting Y 0 trigger None)
              (Some {| asked_trigger := trigger; asked_observation := observation a; asked_options := Y |})
              (rows ++ [row_alarm])
        | Waiting Y k tr _ => result (Waiting Y k tr (Some a)) None (rows ++ [row_alarm_kept])
        | _ => result m None (rows ++ [row_alarm_logged])
        end
    end.

  (** kernel: machine._suspend, best effort toward y, projected into U, uncertified. *)
  Definition suspend (s : MachineState) (i : StepInput) (n : Intent) (x : State) (rows : list Row) : StepResult :=
    let y := name_if_suspended n in
    let p := shifted_plan (held s) x [y] 0 (full_horizon S - intent_k n) in
    let u := match operator i with Some (Override v) => v | _ => first p end in
    finish (step s + 1) (Suspended y (intent_k n)) {| plan := p; origin := x |} (next_trigger s) (alarm i)
      (rows ++ [row_suspended]) (projected S u) false.

  Definition may_resume (m : Mode) : bool := match m with Recovering _ _ | Suspended _ _ => true | _ => false end.
  Definition was_suspended (m : Mode) : bool := match m with Suspended _ _ => true | _ => false end.

  (** The state this step starts from, whether a plan may start from it, and a refusal. From Suspended no certified
      plan led here, so the estimate itself has to show that the true state is in X. *)
  Definition current_state (s : MachineState) (i : StepInput) : State * bool * list Row :=
    match measurement i with
    | Some x => if was_suspended (mode s) && negb (first_state_ok S x) then (x, false, [row_plan_refused]) else (x, true, [])
    | None => (next_state S (origin (held s)) (sent s), prediction_is_exact S && negb (was_suspended (mode s)), [])
    end.

  (** On answer 0 an alarm that was kept while waiting triggers a new wait at once. *)
  Definition detector_after (s : MachineState) (n : Intent) (i : StepInput) : option Alarm * bool :=
    match mode s, aim n, alarm i with
    | Waiting _ _ _ (Some kept), Nominal, None => (Some kept, true)
    | _, _, a => (a, false)
    end.

  (** The step once the operator's Resume is out of the way. *)
  Definition proceed (s : MachineState) (i : StepInput) (n : Intent) (x : State) (known : bool) (rows : list Row) : StepResult :=
    let from_candidates := first_certified false x (request n) (candidates i) in
    let from_held := first_certified true x (request n) (shifted_plans s x (request n)) in
    let chosen :=
      if known && negb (overridden i) then
        match from_candidates with
        | Some p => Some (p, [])
        | None => match from_held with
                  | Some p => Some (p, refusals true false x (request n) (shifted_plans s x (request n)) ++ [row_shifted_plan])
                  | None => None
                  end
        end
      else None in
    let refused := if known && negb (overridden i) then refusals false false x (request n) (candidates i) else [] in
    match chosen with
    | Some (p, more) =>
        let (detector, again) := detector_after s n i in
        finish (step s + 1) (aim n) {| plan := p; origin := x |} (next_trigger s) detector
          (rows ++ refused ++ more ++ when (was_suspended (mode s)) row_certified_again ++ when again row_alarm_again) (first p) true
    | None =>
        suspend s i n x (rows ++ refused ++ (if known && negb (overridden i) then
                                               refusals true false x (request n) (shifted_plans s x (request n)) else []))
    end.

  (** kernel: machine.transition. *)
  Definition transition (s : MachineState) (i : StepInput) : StepResult :=
    let n := intent s i in
    let '(x, known, obstacle) := current_state s i in
    let rows := intent_events n ++ obstacle in
    if resuming i && may_resume (mode s) && negb (is_missing i) && known then
      let refused := refusals false true x start_request (candidates i) in
      match first_certified false x start_request (candidates i) with
      | Some p => finish (step s + 1) Nominal {| plan := p; origin := x |} (next_trigger s) (alarm i)
                    (rows ++ refused ++ [row_resume; row_nominal]) (first p) true
      | None => proceed s i n x known (rows ++ refused ++ [row_resume_refused])
      end
    else proceed s i n x known (rows ++ when (resuming i) row_resume_refused).

  (** kernel: machine.start; [None] is StartRefused. *)
  Definition start (i : StepInput) : option StepResult :=
    match measurement i with
    | None => None
    | Some x =>
        if first_state_ok S x then
          match first_certified false x start_request (candidates i) with
          | None => None
          | Some p => Some (finish 0 Nominal {| plan := p; origin := x |} 0 (alarm i)
                              (refusals false false x start_request (candidates i) ++ [row_nominal]) (first p) true)
          end
        else None
    end.
End Machine.
