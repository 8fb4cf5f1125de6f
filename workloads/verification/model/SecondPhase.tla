------------------------------ MODULE SecondPhase ------------------------------
(******************************************************************************)
(* The second phase, lock resolution and deletion (P1, P2, P4, P9, P14,       *)
(* P30): can a late message bring back a collected record, or can a lock be   *)
(* resolved wrongly because the evidence was collected?                       *)
(*                                                                            *)
(*   writer      one transaction, in all its steps, that writes the cells     *)
(*               "p" (its primary) and "x" (engine/transaction/commit.ts,     *)
(*               resolve-lock.ts)                                             *)
(*   others      transactions that overwrite or delete a cell, each in one    *)
(*               step                                                         *)
(*   resolver    any process that meets the writer's lock; it may presume     *)
(*               the writer dead at any time                                  *)
(*               (engine/transaction/resolve-lock.ts)                         *)
(*   collector   horizon, wait, resolve, delete                               *)
(*               (engine/garbage-collection/cycle.ts, collect-row.ts)         *)
(*                                                                            *)
(* Leases have the property that Leases.tla checks: while the writer is       *)
(* covered, the horizon does not pass its start timestamp. The writer may     *)
(* stop being covered at any time.                                            *)
(*                                                                            *)
(* A message arrives once, twice or never, and at most a message lifetime     *)
(* after it was sent. A process may pause for any time between two of its     *)
(* steps, so the decision of a resolver may arrive at any later time.         *)
(*                                                                            *)
(* `Mistake` puts one mistake back; with "none" it is the engine's algorithm. *)
(******************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  LastTimestamp,  \* Timestamps are 1 to this: two for the writer, one for each of the others.
  Mistake

VARIABLES
  last,       \* The largest timestamp handed out.
  horizon,
  cells,      \* The two rows in the store.
  mail,       \* Messages that may arrive.
  writer,
  resolver,   \* A process that has found nothing at the primary.
  collector,
  collected   \* Ghost: write records that were deleted, as <<cell, commit timestamp>>.

vars == <<last, horizon, cells, mail, writer, resolver, collector, collected>>

Primary == "p"
Secondary == "x"
Cells == {Primary, Secondary}

Largest(set) == CHOOSE x \in set : \A y \in set : x >= y

\* `of` is the start timestamp in a record of the writer, and the commit timestamp in other records.
Record(at, of, isDelete) == [at |-> at, of |-> of, isDelete |-> isDelete]

S == writer.start
C == writer.commit

EmptyCell == [isLocked |-> FALSE, records |-> {}, data |-> {}, marker |-> "none"]

Init ==
  /\ last = 0
  /\ horizon = 0
  /\ cells = [c \in Cells |-> EmptyCell]
  /\ mail = {}
  /\ writer = [state |-> "idle", start |-> 0, commit |-> 0, locked |-> {}, isCovered |-> FALSE, isCommitted |-> FALSE]
  /\ resolver = [state |-> "idle", cell |-> Primary, since |-> 0]
  /\ collector = [state |-> "idle", limit |-> 0, cell |-> Primary, garbage |-> [records |-> {}, data |-> {}, marker |-> FALSE]]
  /\ collected = {}

(******************************************************************************)
(* Messages. `isOld`: sent before the collector fixed its deletion horizon.   *)
(* Never true for resolvers, whose decisions may be sent later.               *)
(******************************************************************************)
Message(kind, cell, at) == [kind |-> kind, cell |-> cell, at |-> at, isOld |-> FALSE]
OfResolvers == {"roll forward", "roll back", "forbid"}
Deliver(messages) == mail' = mail \cup messages

Lock(cell) == [cell EXCEPT !.isLocked = TRUE, !.data = @ \cup {S}]
Commit(cell, at) == [cell EXCEPT !.isLocked = FALSE, !.records = @ \cup {Record(at, S, FALSE)}]
RollBack(cell) ==
  [cell EXCEPT !.isLocked = FALSE, !.data = @ \ {S},
               !.marker = IF Mistake = "no markers" THEN @ ELSE "rolled back"]

\* P1, P14: a prewrite is refused by a lock, by its own marker, by any record at or after S.
IsRefused(cell) ==
  \/ cell.isLocked
  \/ cell.marker # "none"
  \/ \E record \in cell.records : record.at >= S /\ Mistake # "records refuse no prewrite"

\* The row after the message; some messages change nothing.
Applied(m) ==
  LET cell == cells[m.cell]
  IN CASE m.kind = "prewrite" -> (IF IsRefused(cell) THEN cell ELSE Lock(cell))
       [] m.kind \in {"commit", "second phase", "roll forward"} ->
            (IF cell.isLocked THEN Commit(cell, m.at) ELSE cell)
       [] m.kind = "blind second phase" -> Commit(cell, m.at)
       [] m.kind = "roll back" -> (IF cell.isLocked THEN RollBack(cell) ELSE cell)
       [] m.kind = "own roll back" -> RollBack(cell)
       [] m.kind = "forbid" ->
            (IF cell.isLocked \/ \E record \in cell.records : record.at >= m.at THEN cell
             ELSE [cell EXCEPT !.marker = IF @ = "none" THEN "forbidden" ELSE @])

\* The first answer to a prewrite of the cell; a copy has none.
IsAnswer(m) == m.kind = "prewrite" /\ writer.state = "prewriting" /\ m.cell \notin writer.locked

\* The writer hears the answer at once, if it waits for it.
Heard(m) ==
  LET cell == cells[m.cell]
  IN CASE IsAnswer(m) ->
            (IF IsRefused(cell) THEN "failed"
             ELSE IF writer.locked \cup {m.cell} = Cells THEN "locked" ELSE "prewriting")
       [] m.kind = "commit" /\ writer.state = "committing" ->
            (IF cell.isLocked THEN "committed" ELSE "ended")
       [] OTHER -> writer.state

Arrive(m) ==
  /\ cells' = [cells EXCEPT ![m.cell] = Applied(m)]
  /\ writer' = [writer EXCEPT !.state = Heard(m),
                              !.locked = IF IsAnswer(m) /\ ~IsRefused(cells[m.cell]) THEN @ \cup {m.cell} ELSE @,
                              !.isCommitted = @ \/ (m.kind = "commit" /\ cells[Primary].isLocked)]
  /\ UNCHANGED <<last, horizon, mail, resolver, collector, collected>>

SomethingArrives == \E m \in mail : Arrive(m)

(******************************************************************************)
(* The writer.                                                                *)
(******************************************************************************)
Write(state, messages) ==
  /\ writer' = [writer EXCEPT !.state = state]
  /\ Deliver(messages)
  /\ UNCHANGED <<last, horizon, cells, resolver, collector, collected>>

Begin ==
  /\ writer.state = "idle"
  /\ last < LastTimestamp
  /\ last' = last + 1
  /\ writer' = [writer EXCEPT !.state = "begun", !.start = last + 1, !.isCovered = TRUE]
  /\ UNCHANGED <<horizon, cells, mail, resolver, collector, collected>>

\* Both at once; a writer that locks its primary first does the same with slower messages.
Prewrite ==
  /\ writer.state = "begun"
  /\ Write("prewriting", {Message("prewrite", c, 0) : c \in Cells})

\* The horizon comes with the commit timestamp: if it is above S, the transaction is rolled back.
CommitTimestamp ==
  /\ writer.state = "locked"
  /\ last < LastTimestamp
  /\ last' = last + 1
  /\ LET isStale == horizon > S /\ Mistake # "commits are not validated"
     IN writer' = [writer EXCEPT !.state = IF isStale THEN "failed" ELSE "timestamped",
                                 !.commit = IF isStale THEN 0 ELSE last + 1]
  /\ UNCHANGED <<horizon, cells, mail, resolver, collector, collected>>

CommitPrimary ==
  /\ writer.state = "timestamped"
  /\ Write("committing", {Message("commit", Primary, C)})

\* Always conditional on the lock. With the mistakes it is unconditional while the writer believes
\* that it is covered.
SecondPhase ==
  /\ writer.state = "committed"
  /\ CASE Mistake = "blind second phase, checked before it is sent" ->
            Write(IF writer.isCovered THEN "checked" ELSE "ended",
                  IF writer.isCovered THEN {} ELSE {Message("second phase", Secondary, C)})
       [] Mistake = "blind second phase, checked as it is sent" ->
            Write("ended", {Message(IF writer.isCovered THEN "blind second phase" ELSE "second phase", Secondary, C)})
       [] OTHER -> Write("ended", {Message("second phase", Secondary, C)})

SendChecked ==
  /\ writer.state = "checked"
  /\ Write("ended", {Message("blind second phase", Secondary, C)})

\* A prewrite had no answer.
GiveUp ==
  /\ writer.state = "prewriting"
  /\ Write("failed", {})

\* Unconditional, with markers, the primary's row first.
RollBackOwn ==
  /\ writer.state = "failed"
  /\ Write("ended", {Message("own roll back", Primary, 0), Message("own roll back", Secondary, 0)})

\* The hold of the writer is released, or its lease is given up.
Lapse ==
  /\ writer.isCovered
  /\ writer' = [writer EXCEPT !.isCovered = FALSE]
  /\ UNCHANGED <<last, horizon, cells, mail, resolver, collector, collected>>

(******************************************************************************)
(* Resolving the writer's lock at a cell: what does the primary show?         *)
(******************************************************************************)
Decide(kind, c, at) ==
  /\ Deliver({Message(kind, c, at)})
  /\ resolver' = [resolver EXCEPT !.state = "idle"]
  /\ UNCHANGED <<last, horizon, cells, writer, collector, collected>>

Resolving(next) ==
  /\ resolver' = next
  /\ UNCHANGED <<last, horizon, cells, mail, writer, collector, collected>>

\* The resolver looks at the primary; what is absent takes further steps.
Look(c, isAgain) ==
  LET primary == cells[Primary]
      own == {record \in primary.records : record.of = S}
      newest == IF primary.records = {} THEN S ELSE Largest({record.at : record \in primary.records}) + 1
  IN  CASE own # {} -> \E record \in own : Decide("roll forward", c, record.at)
        [] own = {} /\ primary.marker # "none" -> Decide("roll back", c, 0)
        [] own = {} /\ primary.marker = "none" /\ primary.isLocked -> Decide("roll back", Primary, 0)
        [] OTHER ->
             IF isAgain THEN Decide("roll back", c, 0)
             ELSE Resolving([state |-> "absent", cell |-> c, since |-> IF newest > S THEN newest ELSE S])

Resolve(c) ==
  /\ resolver.state = "idle"
  /\ cells[c].isLocked
  /\ Look(c, FALSE)

\* Only below the horizon is the primary looked at again (P2).
AskHorizon ==
  /\ resolver.state = "absent"
  /\ IF horizon <= S THEN Decide("forbid", Primary, resolver.since)
     ELSE IF Mistake = "an absent primary is not looked for again" THEN Decide("roll back", resolver.cell, 0)
     ELSE Resolving([resolver EXCEPT !.state = "below the horizon"])

LookAgain ==
  /\ resolver.state = "below the horizon"
  /\ Look(resolver.cell, TRUE)

(******************************************************************************)
(* Other transactions write a cell that is not locked.                        *)
(******************************************************************************)
Overwrite(c, isDelete) ==
  /\ ~cells[c].isLocked
  /\ last < LastTimestamp
  /\ last' = last + 1
  /\ cells' = [cells EXCEPT ![c].records = @ \cup {Record(last + 1, last + 1, isDelete)},
                            ![c].data = IF isDelete THEN @ ELSE @ \cup {last + 1}]
  /\ UNCHANGED <<horizon, mail, writer, resolver, collector, collected>>

(******************************************************************************)
(* The collector.                                                             *)
(******************************************************************************)
Collecting(next) ==
  /\ collector' = next
  /\ UNCHANGED <<last, writer, resolver>>

IsInUse == writer.isCovered /\ writer.state # "idle"

\* Moves the horizon, which is also the deletion horizon. It stays at or below every covered start
\* timestamp.
MoveHorizon(h) ==
  /\ collector.state = "idle"
  /\ h > horizon
  /\ IsInUse => h <= S
  /\ horizon' = h
  /\ mail' = {[m EXCEPT !.isOld = m.kind \notin OfResolvers] : m \in mail}
  /\ Collecting([collector EXCEPT !.limit = h,
        !.state = IF Mistake = "the collector does not wait" THEN "resolving" ELSE "waiting"])
  /\ UNCHANGED <<cells, collected>>

MoveHorizonSomewhere == \E h \in 1..last : MoveHorizon(h)

\* The wait lasts for a message lifetime: after it, no message that was sent before is in flight.
WaitEnds ==
  /\ collector.state = "waiting"
  /\ mail' = {m \in mail : ~m.isOld}
  /\ Collecting([collector EXCEPT
        !.state = IF Mistake = "the collector does not resolve locks" THEN "reading" ELSE "resolving"])
  /\ UNCHANGED <<horizon, cells, collected>>

Other(c) == IF c = Primary THEN Secondary ELSE Primary

\* One cell after the other, beginning with either. A cell is done when no lock of the writer below
\* the limit is left in it.
Resolved(c) ==
  /\ collector.state \in {"resolving", "resolving the other"}
  /\ collector.state = "resolving the other" => c = collector.cell
  /\ ~(cells[c].isLocked /\ S < collector.limit)
  /\ Collecting([collector EXCEPT
        !.state = IF @ = "resolving" THEN "resolving the other" ELSE "reading",
        !.cell = IF @ = c THEN Other(c) ELSE @])
  /\ UNCHANGED <<horizon, cells, mail, collected>>

\* The newest record up to D stays, unless it is a delete. Data stays if a record needs it or a lock
\* guards it.
Garbage(cell, limit) ==
  LET upTo == {record \in cell.records : record.at <= limit}
      newest == {record \in upTo : record.at = Largest({one.at : one \in upTo})}
      records == upTo \ {record \in newest : ~record.isDelete}
      used == {record.of : record \in cell.records \ records}
  IN  [records |-> records,
       data |-> {of \in cell.data : of < limit /\ of \notin used /\ ~(of = S /\ cell.isLocked)},
       marker |-> cell.marker # "none" /\ S < limit]

Read(c) ==
  /\ collector.state \in {"reading", "reading the other"}
  /\ collector.state = "reading the other" => c = collector.cell
  /\ Collecting([collector EXCEPT !.cell = c, !.garbage = Garbage(cells[c], collector.limit),
        !.state = IF @ = "reading" THEN "deleting" ELSE "deleting the other"])
  /\ UNCHANGED <<horizon, cells, mail, collected>>

\* Deletes by exact timestamps, some time after the read.
Delete ==
  LET c == collector.cell
      garbage == collector.garbage
      isLast == collector.state = "deleting the other"
  IN  /\ collector.state \in {"deleting", "deleting the other"}
      /\ cells' = [cells EXCEPT ![c].records = @ \ garbage.records, ![c].data = @ \ garbage.data,
                                ![c].marker = IF garbage.marker THEN "none" ELSE @]
      /\ collected' = collected \cup {<<c, record.at>> : record \in garbage.records}
      /\ Collecting([state |-> IF isLast THEN "idle" ELSE "reading the other",
                     limit |-> IF isLast THEN 0 ELSE collector.limit,
                     cell |-> IF isLast THEN Primary ELSE Other(c),
                     garbage |-> [records |-> {}, data |-> {}, marker |-> FALSE]])
      /\ UNCHANGED <<horizon, mail>>

Next ==
  \/ SomethingArrives
  \/ Begin \/ Prewrite \/ CommitTimestamp \/ CommitPrimary
  \/ SecondPhase \/ SendChecked \/ GiveUp \/ RollBackOwn \/ Lapse
  \/ \E c \in Cells :
       Resolve(c) \/ Resolved(c) \/ Read(c) \/ \E isDelete \in BOOLEAN : Overwrite(c, isDelete)
  \/ AskHorizon \/ LookAgain
  \/ MoveHorizonSomewhere
  \/ WaitEnds \/ Delete

Spec == Init /\ [][Next]_vars

(******************************************************************************)
(* What must hold.                                                            *)
(******************************************************************************)
\* P9: no write record comes back once it was collected.
NoRecordComesBack ==
  \A c \in Cells : \A record \in cells[c].records : <<c, record.at>> \notin collected

\* P9: a write record points to data.
RecordsHaveData ==
  \A c \in Cells : \A record \in cells[c].records : record.isDelete \/ record.of \in cells[c].data

\* P30: half of a committed transaction is never rolled back: each of its cells is still locked, or
\* has the record, or had it until it was collected.
NoHalfIsRolledBack ==
  writer.isCommitted =>
    \A c \in Cells : \/ cells[c].isLocked
                     \/ \E record \in cells[c].records : record.of = S
                     \/ <<c, C>> \in collected

\* Nothing of a transaction that did not commit becomes visible.
NothingOfARolledBack ==
  ~writer.isCommitted => \A c \in Cells : \A record \in cells[c].records : record.of # S

\* First committer wins: no other transaction has written a cell between the writer's S and C.
NoLostUpdate ==
  writer.isCommitted =>
    \A c \in Cells : \A record \in cells[c].records : record.of = S \/ record.at < S \/ record.at > C
===============================================================================
