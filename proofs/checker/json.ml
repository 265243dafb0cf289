(* JSON text and its values, and the one canonical text of a value. *)

exception Bad of string

let bad fmt = Printf.ksprintf (fun s -> raise (Bad s)) fmt

(* JSON. A number with a fraction or an exponent, or of more than 18 digits, is kept as its text and is never computed
   with. Texts are held as UTF-8, half a surrogate pair as the three bytes that it would have. *)

type json = Object of (string * json) list | List of json list | Text of string | Integer of int | Number of string | Word of string

(* The code point at byte i, and the bytes that it takes. *)
let code_point s i =
  let byte k = if i + k < String.length s then Char.code s.[i + k] else bad "the text is no UTF-8" in
  let more k = let b = byte k in if b land 0xc0 <> 0x80 then bad "the text is no UTF-8" else b land 0x3f in
  let least least c size = if c < least then bad "the text is no UTF-8" else (c, size) in
  let b = byte 0 in
  if b < 0x80 then (b, 1)
  else if b land 0xe0 = 0xc0 then least 0x80 (((b land 0x1f) lsl 6) lor more 1) 2
  else if b land 0xf0 = 0xe0 then least 0x800 (((b land 0x0f) lsl 12) lor (more 1 lsl 6) lor more 2) 3
  else if b land 0xf8 = 0xf0 && b < 0xf5 then least 0x10000 (((b land 0x07) lsl 18) lor (more 1 lsl 12) lor (more 2 lsl 6) lor more 3) 4
  else bad "the text is no UTF-8"

let is_surrogate c = 0xd800 <= c && c < 0xe000

let require_utf8 s =
  let i = ref 0 in
  while !i < String.length s do
    let c, size = code_point s !i in
    if is_surrogate c || c > 0x10ffff then bad "the text is no UTF-8";
    i := !i + size
  done

let add_code_point out c =
  let add c = Buffer.add_char out (Char.chr c) in
  let tail shift = add (0x80 lor ((c lsr shift) land 0x3f)) in
  if c < 0x80 then add c
  else if c < 0x800 then (add (0xc0 lor (c lsr 6)); tail 0)
  else if c < 0x10000 then (add (0xe0 lor (c lsr 12)); tail 6; tail 0)
  else (add (0xf0 lor (c lsr 18)); tail 12; tail 6; tail 0)

let is_digit c = '0' <= c && c <= '9'

(* An integer without leading zeros; with [fraction] decimals and an exponent may follow. *)
let is_json_number ~fraction word =
  let n = String.length word in
  let rec digits i = if i < n && is_digit word.[i] then digits (i + 1) else i in
  let some i = let j = digits i in if j > i then j else n + 1 in
  let start = if n > 0 && word.[0] = '-' then 1 else 0 in
  let whole = some start in
  let whole = if start < n && word.[start] = '0' && whole > start + 1 then n + 1 else whole in
  if not fraction then whole = n
  else
    let point = if whole < n && word.[whole] = '.' then some (whole + 1) else whole in
    let exponent =
      if point < n && (word.[point] = 'e' || word.[point] = 'E') then
        some (if point + 1 < n && (word.[point + 1] = '+' || word.[point + 1] = '-') then point + 2 else point + 1)
      else point in
    exponent = n

let parse (s : string) : json =
  require_utf8 s;
  let n = String.length s and at = ref 0 in
  let peek () = if !at < n then s.[!at] else bad "the text ends too early" in
  let rec space () = if !at < n && (match s.[!at] with ' ' | '\n' | '\r' | '\t' -> true | _ -> false) then (incr at; space ()) in
  let expect c = if peek () <> c then bad "expected %c at byte %d" c !at; incr at in
  (* XXXX of \uXXXX, with [at] on the u. *)
  let unit () =
    if !at + 5 > n then bad "the text ends too early";
    let hex = String.sub s (!at + 1) 4 in
    if not (String.for_all (function '0' .. '9' | 'a' .. 'f' | 'A' .. 'F' -> true | _ -> false) hex) then bad "unknown escape \\u%s" hex;
    at := !at + 5;
    int_of_string ("0x" ^ hex)
  in
  let text () =
    expect '"';
    let out = Buffer.create 16 in
    let rec go () =
      match peek () with
      | '"' -> incr at
      | '\\' ->
          incr at;
          (match peek () with
           | ('"' | '\\' | '/') as c -> Buffer.add_char out c; incr at
           | 'n' -> Buffer.add_char out '\n'; incr at
           | 't' -> Buffer.add_char out '\t'; incr at
           | 'r' -> Buffer.add_char out '\r'; incr at
           | 'b' -> Buffer.add_char out '\b'; incr at
           | 'f' -> Buffer.add_char out '\012'; incr at
           | 'u' ->
               let high = unit () in
               let after = !at in
               if high lsr 10 = 0x36 && after + 1 < n && s.[after] = '\\' && s.[after + 1] = 'u' then begin
                 incr at;
                 let low = unit () in
                 if low lsr 10 = 0x37 then add_code_point out (0x10000 + ((high land 0x3ff) lsl 10) + (low land 0x3ff))
                 else (at := after; add_code_point out high)
               end
               else add_code_point out high
           | c -> bad "unknown escape \\%c" c);
          go ()
      | c when c < ' ' -> bad "a control character at byte %d" !at
      | c -> Buffer.add_char out c; incr at; go ()
    in
    go (); Buffer.contents out
  in
  let rec value depth =
    if depth > 200 then bad "nested too deeply";
    space ();
    match peek () with
    | '{' -> incr at; space (); if peek () = '}' then (incr at; Object []) else fields depth []
    | '[' -> incr at; space (); if peek () = ']' then (incr at; List []) else items depth []
    | '"' -> Text (text ())
    | _ ->
        let start = !at in
        let rec go () = if !at < n && (match s.[!at] with 'a' .. 'z' | 'A' .. 'Z' | '0' .. '9' | '-' | '+' | '.' -> true | _ -> false) then (incr at; go ()) in
        go ();
        let word = String.sub s start (!at - start) in
        if List.mem word [ "true"; "false"; "null" ] then Word word
        else if is_json_number ~fraction:false word && String.length word < 19 then Integer (int_of_string word)
        else if is_json_number ~fraction:true word then Number word
        else bad "unexpected text at byte %d" start
  and fields depth found =
    space ();
    let key = text () in
    if List.mem_assoc key found then bad "the key %s occurs twice" key;
    space (); expect ':';
    let v = value (depth + 1) in
    space ();
    match peek () with
    | ',' -> incr at; fields depth ((key, v) :: found)
    | '}' -> incr at; Object (List.rev ((key, v) :: found))
    | _ -> bad "expected , or } at byte %d" !at
  and items depth found =
    let v = value (depth + 1) in
    space ();
    match peek () with
    | ',' -> incr at; items depth (v :: found)
    | ']' -> incr at; List (List.rev (v :: found))
    | _ -> bad "expected , or ] at byte %d" !at
  in
  let v = value 0 in
  space ();
  if !at <> n then bad "text follows the value";
  v

(* The one canonical text: keys in order, no spaces, ASCII. *)
let encoded (v : json) : string =
  let out = Buffer.create 4096 in
  let add = Buffer.add_string out in
  let text s =
    add "\"";
    let i = ref 0 in
    while !i < String.length s do
      let c, size = code_point s !i in
      i := !i + size;
      match Char.chr (min c 255) with
      | '"' -> add "\\\"" | '\\' -> add "\\\\" | '\n' -> add "\\n" | '\r' -> add "\\r" | '\t' -> add "\\t"
      | '\b' -> add "\\b" | '\012' -> add "\\f"
      | ' ' .. '~' as c -> Buffer.add_char out c
      | _ when c < 0x10000 -> Printf.bprintf out "\\u%04x" c
      | _ -> Printf.bprintf out "\\u%04x\\u%04x" (0xd800 lor ((c - 0x10000) lsr 10)) (0xdc00 lor (c land 0x3ff))
    done;
    add "\""
  in
  let separated each = List.iteri (fun i v -> if i > 0 then add ","; each v) in
  let rec value = function
    | Object fields -> add "{"; separated (fun (key, v) -> text key; add ":"; value v) (List.sort compare fields); add "}"
    | List items -> add "["; separated value items; add "]"
    | Text s -> text s
    | Integer i -> add (string_of_int i)
    | Number s | Word s -> add s
  in
  value v; Buffer.contents out
