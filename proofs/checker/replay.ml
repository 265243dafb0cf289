(* Runs the transition function that is extracted from Machine.v and Kernel.v over what a flight read, and prints what
   each step yields, one line a step. For comparison with kernel/machine.py, exact number for exact number. *)

open Core
open Json
open Reading

let texts d v = String.concat "," (List.map number_text (list_of_vec d v))

(* A name that is no recovery set's becomes a number that is none's. *)
let name_or_none names v = match index names (as_text v) with i -> i | exception Bad _ -> List.length names

let null = function Word "null" -> true | _ -> false
let optional convert v = if null v then None else Some (convert v)
let flag = function Word "true" -> true | Word "false" -> false | _ -> bad "expected true or false"

let read_answer names v =
  let trigger = as_natural (get "trigger" v) in
  match as_text (get "kind" v) with
  | "clear" -> Clear trigger
  | "choice" -> Choice (trigger, name_or_none names (get "name" v))
  | "rejected" -> RejectedAnswer trigger
  | other -> bad "no answer is %s" other

let read_operator m v =
  match as_text (get "kind" v) with
  | "override" -> Override (vector m (get "input" v))
  | "hold" -> Hold
  | "resume" -> Resume
  | other -> bad "no command is %s" other

let read_candidate r v : (qc vec, int) plan =
  let horizon = as_natural (get "horizon" v) in
  let inputs u = List.init (horizon + 1) (fun k -> vec_exact r.m (List.map (fun row -> List.nth row k) (shaped r.m (horizon + 1) u))) in
  let options = List.map (name_or_none r.names) (as_list (get "options" v)) in
  { nominal = inputs (get "nominal" v); branches = List.combine options (List.map inputs (as_list (get "recovery" v)));
    consensus = as_natural (get "consensus" v); horizon }

let read_step r v : (qc vec, qc vec, int) stepInput =
  let read_alarm a = { fault = flag (get "fault" a); observation = as_natural (get "observation" a) } in
  { measurement = optional (vector r.n) (get "measurement" v); answer0 = optional (read_answer r.names) (get "answer" v);
    candidates = List.map (read_candidate r) (as_list (get "candidates" v)); alarm0 = optional read_alarm (get "alarm" v);
    operator0 = optional (read_operator r.m) (get "operator" v) }

let row_id = function
  | Row_nominal -> "TR-NOMINAL" | Row_alarm -> "TR-ALARM" | Row_waiting -> "TR-WAITING" | Row_answer_clear -> "TR-ANSWER-CLEAR"
  | Row_answer_choice -> "TR-ANSWER-CHOICE" | Row_answer_rejected -> "TR-ANSWER-REJECTED" | Row_deadline -> "TR-DEADLINE"
  | Row_answer_ignored -> "TR-ANSWER-IGNORED" | Row_alarm_kept -> "TR-ALARM-KEPT" | Row_alarm_again -> "TR-ALARM-AGAIN"
  | Row_alarm_logged -> "TR-ALARM-LOGGED" | Row_recovering -> "TR-RECOVERING" | Row_recovered -> "TR-RECOVERED"
  | Row_plan_refused -> "TR-PLAN-REFUSED" | Row_shifted_plan -> "TR-SHIFTED-PLAN" | Row_suspended -> "TR-SUSPENDED"
  | Row_certified_again -> "TR-CERTIFIED-AGAIN" | Row_missing_measurement -> "TR-MISSING-MEASUREMENT"
  | Row_detector_fault -> "TR-DETECTOR-FAULT" | Row_override -> "TR-OVERRIDE" | Row_hold -> "TR-HOLD"
  | Row_resume | Row_resume_refused -> "TR-RESUME"

let shown r (result : (qc vec, qc vec, int) stepResult) =
  let name i = List.nth r.names i in
  let all options = String.concat "+" (List.map name options) in
  let s = result.after in
  let mode =
    match s.mode0 with
    | Nominal -> "Nominal"
    | Waiting (options, k, trigger, kept) ->
        Printf.sprintf "Waiting %s %d %d %s" (all options) k trigger (match kept with None -> "-" | Some a -> string_of_int a.observation)
    | Recovering (y, k) -> Printf.sprintf "Recovering %s %d" (name y) k
    | Suspended (y, k) -> Printf.sprintf "Suspended %s %d" (name y) k
  in
  let p = s.held.plan0 in
  let branch us = String.concat ";" (List.map (texts r.m) us) in
  String.concat "|"
    [ string_of_int s.step; mode; texts r.m result.input; texts r.m s.sent; string_of_bool result.is_certified;
      String.concat "," (List.map row_id result.events);
      (match result.question0 with None -> "-" | Some q -> Printf.sprintf "%d %d %s" q.asked_trigger q.asked_observation (all q.asked_options));
      string_of_int s.next_trigger; texts r.n s.held.origin; string_of_int p.consensus; string_of_int p.horizon; branch p.nominal;
      String.concat " " (List.map (fun (y, us) -> name y ^ ":" ^ branch us) p.branches) ]

let run v =
  let r = system (get "system" v) in
  let loop = replayed r.n r.m r.sys (vector r.n (get "member" v)) in
  match List.map (read_step r) (as_list (get "steps" v)) with
  | [] -> bad "there are no steps"
  | first :: later ->
      (match start loop first with
       | None -> print_endline "start refused"
       | Some result ->
           print_endline (shown r result);
           ignore
             (List.fold_left
                (fun state i -> let result = transition loop state i in print_endline (shown r result); result.after)
                result.after later))
