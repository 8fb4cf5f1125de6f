-------------------------------- MODULE Leases --------------------------------
(******************************************************************************)
(* Leases and the horizon (P31, P59): may a process read what a collector     *)
(* is deleting?                                                               *)
(*                                                                            *)
(*   process     registers a lease, enters transactions, pins snapshots of    *)
(*               the past, renews, reads, and relies on its lease while both  *)
(*               of its clocks say that it is young                           *)
(*               (engine/leases/leases.ts, transaction/snapshot-read.ts)              *)
(*   collector   asks for a timestamp N, reads the leases, persists the       *)
(*               horizon H, reads the leases again, and deletes below D       *)
(*               (engine/leases/lease-table.ts,                               *)
(*               garbage-collection/horizon.ts)                               *)
(*                                                                            *)
(* Every message is two steps or three: it is served at one moment, and its   *)
(* answer is heard at a later one. A lease that was sent may arrive late and  *)
(* twice. Time passes in ticks of the collector's clock; in a tick a process  *)
(* may do much or nothing, and its clocks may miss the tick (see Tick).       *)
(*                                                                            *)
(* `Mistake` puts one mistake back; with "none" it is the engine's algorithm. *)
(* The table of configurations is in configurations.ts.                       *)
(******************************************************************************)
EXTENDS Integers, FiniteSets

\* Faults:
\*   "suspend"       a machine is suspended: its monotonic clock pauses, its wall clock continues
\*   "jump"          a wall clock is set, forward or back
\*   "slow answers"  answers are heard after they are served; otherwise only requests take time
\*   "no answers"    a renewal has no answer; the lease that was sent may arrive later
\*   "copies"        a lease that has arrived may arrive again
\*   "restarts"      a collector dies, and another begins
\*   "long use"      a snapshot is in use for longer than snapshotLifetimeMsMax
CONSTANTS
  Processes,      \* Each has a lease.
  Slots,          \* Concurrent transactions and snapshots of one process.
  Collectors,
  LastTimestamp,  \* Timestamps are 1 to this.
  LastRenewal,    \* The most renewals that a process sends.
  Ttl,            \* Ticks that a collector respects a lease that does not change.
  Skew,           \* Ticks that a process's clock may miss while a lease is young: 0 or 1.
  Faults,         \* The faults that occur, a subset of the list above.
  Mistake

VARIABLES
  last,       \* The largest timestamp handed out.
  horizon,    \* Persisted: snapshots below may have lost versions.
  deletedTo,  \* Ghost: the largest D below which a collector has begun to delete.
  table,      \* The lease of each process in the store.
  mail,       \* Leases that were sent. Each may arrive now, later and again.
  process,    \* The memory of each process about its lease.
  slot,       \* Its transactions and snapshots.
  collector

vars == <<last, horizon, deletedTo, table, mail, process, slot, collector>>

Min(set) == CHOOSE x \in set : \A y \in set : x <= y
Max(a, b) == IF a >= b THEN a ELSE b

NoLease == [bound |-> 0, counter |-> 0]
NoSighting == [counter |-> 0, age |-> 0]

(******************************************************************************)
(* Clocks. A timer measures the time since an event, on both clocks of a      *)
(* process; `missed` says that a tick was already missed since then.          *)
(******************************************************************************)
CountedOn == IF Mistake = "no margin" THEN Ttl ELSE Ttl - Skew
JustNow == [monotonic |-> 0, wall |-> 0, missed |-> FALSE]
Over == [monotonic |-> CountedOn, wall |-> CountedOn, missed |-> TRUE]

\* The engine lets the clocks differ by much less than its margin (base/clock.ts); here they must
\* agree.
IsYoung(timer) ==
  CASE Mistake = "monotonic clock only" -> timer.monotonic < CountedOn
    [] Mistake = "wall clock only" -> timer.wall < CountedOn
    [] OTHER -> timer.monotonic < CountedOn /\ timer.wall = timer.monotonic

\* To reduce states: all timers that are too old, and can never look young again, are equal.
IsOverForEver(timer) ==
  /\ ~IsYoung(timer)
  /\ "jump" \in Faults => timer.monotonic = CountedOn /\ Mistake # "wall clock only"

Later(timer, step) ==
  LET later == [monotonic |-> Min({CountedOn, timer.monotonic + step.monotonic}),
                wall |-> Min({CountedOn, timer.wall + step.wall}),
                missed |-> timer.missed \/ step.missed]
  IN  IF IsOverForEver(later) THEN Over ELSE later

\* The possible effects of one tick on the clocks of a process. The monotonic clock of a suspended
\* machine pauses.
ClockSteps(timers) ==
  {[monotonic |-> 1, wall |-> 1, missed |-> FALSE]}
  \cup (IF "suspend" \in Faults THEN {[monotonic |-> 0, wall |-> 1, missed |-> FALSE]} ELSE {})
  \cup (IF Skew = 0 \/ \E timer \in timers : timer.missed THEN {}
        ELSE [monotonic : {0, 1}, wall : {0, 1}, missed : {TRUE}])

(******************************************************************************)
(* The knowledge of a process about itself.                                   *)
(******************************************************************************)
Entries(p) == {s \in Slots : slot[p][s].isEntry}
IsValid(p) == process[p].isRegistered /\ IsYoung(process[p].renewedAt)
IsCovered(p, s) == slot[p][s].isEntry /\ slot[p][s].counts /\ IsValid(p)
IsInFlight(p) == process[p].renewal \in {"sent", "arrived"}

HasSlowAnswers == "slow answers" \in Faults

Idle == [state |-> "idle", timestamp |-> 0, bound |-> 0, isPin |-> FALSE, isEntry |-> FALSE,
         counts |-> FALSE, isInRenewal |-> FALSE]

Init ==
  /\ last = 0
  /\ horizon = 0
  /\ deletedTo = 0
  /\ table = [p \in Processes |-> NoLease]
  /\ mail = {}
  /\ process = [p \in Processes |->
       [isRegistered |-> FALSE, renewal |-> "none", fresh |-> 0, counter |-> 0, seen |-> 0,
        largestSent |-> 0, sentAt |-> JustNow, renewedAt |-> Over]]
  /\ slot = [p \in Processes |-> [s \in Slots |-> Idle]]
  /\ collector = [c \in Collectors |->
       [state |-> "idle", limit |-> 0, read |-> [p \in Processes |-> NoLease], old |-> {},
        sightings |-> [p \in Processes |-> NoSighting]]]

(******************************************************************************)
(* Renewing the lease. A bound is the smallest start timestamp in use; if     *)
(* there is none, a fresh timestamp, which was requested before the check.    *)
(******************************************************************************)
SmallestInUse(p, fresh) ==
  IF Entries(p) = {} THEN fresh ELSE Min({slot[p][s].bound : s \in Entries(p)})

\* In one step, without an await: compute the bound, record it as sent, send.
Send(p, known, bound) ==
  LET counter == known.counter + 1
  IN  /\ process' = [process EXCEPT ![p] =
           [known EXCEPT !.renewal = "sent", !.fresh = 0, !.counter = counter, !.sentAt = JustNow,
                         !.largestSent = Max(@, bound)]]
      /\ mail' = mail \cup {[process |-> p, bound |-> bound, counter |-> counter]}
      /\ slot' = [slot EXCEPT ![p] = [s \in Slots |->
           [@[s] EXCEPT !.isInRenewal = @ \/ (slot[p][s].state = "pinning" /\ bound <= slot[p][s].bound)]]]

\* The mistake "bound recorded later", the audit's bug 1 (docs/verification.md): a snapshot that is
\* pinned between computing and recording is not in the bound.
ComputeOnly(p, known, bound) ==
  /\ process' = [process EXCEPT ![p] = [known EXCEPT !.renewal = "computed", !.fresh = bound]]
  /\ UNCHANGED <<mail, slot>>

ComputeAndSend(p, known, bound) ==
  IF Mistake = "bound recorded later" THEN ComputeOnly(p, known, bound) ELSE Send(p, known, bound)

StartRenewal(p) ==
  /\ process[p].renewal = "none"
  /\ process[p].counter < LastRenewal
  /\ IF Entries(p) = {}
     THEN /\ process' = [process EXCEPT ![p].renewal = "asking"]
          /\ UNCHANGED <<mail, slot>>
     ELSE ComputeAndSend(p, process[p], SmallestInUse(p, 0))
  /\ UNCHANGED <<last, horizon, deletedTo, table, collector>>

FreshTimestampServed(p) ==
  /\ HasSlowAnswers
  /\ process[p].renewal = "asking"
  /\ process' = [process EXCEPT ![p].renewal = "answered", ![p].fresh = last]
  /\ UNCHANGED <<last, horizon, deletedTo, table, mail, slot, collector>>

FreshTimestampHeard(p) ==
  /\ process[p].renewal = IF HasSlowAnswers THEN "answered" ELSE "asking"
  /\ LET fresh == IF HasSlowAnswers THEN process[p].fresh ELSE last
         known == [process[p] EXCEPT !.seen = Max(@, fresh)]
     IN  ComputeAndSend(p, known, SmallestInUse(p, fresh))
  /\ UNCHANGED <<last, horizon, deletedTo, table, collector>>

RecordAndSend(p) ==
  /\ process[p].renewal = "computed"
  /\ Send(p, process[p], process[p].fresh)
  /\ UNCHANGED <<last, horizon, deletedTo, table, collector>>

\* The counter is the timestamp of the cell, and the newest cell counts: old copies change nothing.
TableAfter(m) ==
  IF m.counter > table[m.process].counter \/ Mistake = "old copies count"
  THEN [table EXCEPT ![m.process] = [bound |-> m.bound, counter |-> m.counter]]
  ELSE table

LeaseArrives(m) ==
  LET p == m.process
  IN  /\ table' = TableAfter(m)
      /\ process' = IF process[p].renewal = "sent" /\ process[p].counter = m.counter
                    THEN [process EXCEPT ![p].renewal = "arrived"] ELSE process
      /\ mail' = IF "copies" \in Faults THEN mail ELSE mail \ {m}
      /\ UNCHANGED <<last, horizon, deletedTo, slot, collector>>

SomeLeaseArrives == \E m \in mail : LeaseArrives(m)

\* A renewal that was answered too late begins a new epoch: entries in use are never covered again.
RenewalAnswered(p) ==
  /\ process[p].renewal = "arrived"
  /\ LET isNewEpoch == ~IsValid(p) /\ Mistake # "no new epoch"
         since == IF Mistake = "counted from the answer" THEN JustNow ELSE process[p].sentAt
     IN  /\ process' = [process EXCEPT ![p].renewal = "none", ![p].isRegistered = TRUE,
                                       ![p].renewedAt = since, ![p].sentAt = JustNow]
         /\ slot' = [slot EXCEPT ![p] = [s \in Slots |->
              IF slot[p][s].isInRenewal
              THEN [@[s] EXCEPT !.state = "pinned", !.counts = TRUE, !.isInRenewal = FALSE]
              ELSE [@[s] EXCEPT !.counts = @ /\ ~isNewEpoch]]]
  /\ UNCHANGED <<last, horizon, deletedTo, table, mail, collector>>

\* The store or the oracle gave no answer. A lease that was sent may still arrive.
RenewalFails(p) ==
  /\ "no answers" \in Faults
  /\ process[p].renewal # "none"
  /\ process' = [process EXCEPT ![p].renewal = "none", ![p].fresh = 0, ![p].sentAt = JustNow]
  /\ slot' = [slot EXCEPT ![p] = [s \in Slots |->
       IF slot[p][s].state = "pinning"
       THEN [@[s] EXCEPT !.state = "pinned", !.isInRenewal = FALSE] ELSE @[s]]]
  /\ UNCHANGED <<last, horizon, deletedTo, table, mail, collector>>

(******************************************************************************)
(* Transactions and snapshots: they are entries of the lease while in use.    *)
(******************************************************************************)
Change(p, s, next) ==
  /\ slot' = [slot EXCEPT ![p][s] = next]
  /\ UNCHANGED <<last, horizon, deletedTo, table, mail, process, collector>>

\* Until its start timestamp is known, the largest one known before is used in its place.
Enter(p, s) ==
  /\ slot[p][s] = Idle
  /\ LET bound == IF Mistake = "no bound before the timestamp" THEN LastTimestamp ELSE process[p].seen
     IN  Change(p, s, [Idle EXCEPT !.state = "asking", !.bound = bound, !.isEntry = TRUE,
                                   !.counts = process[p].isRegistered])

TimestampServed(p, s) ==
  /\ HasSlowAnswers
  /\ slot[p][s].state = "asking"
  /\ last < LastTimestamp
  /\ last' = last + 1
  /\ slot' = [slot EXCEPT ![p][s].state = "answered", ![p][s].timestamp = last + 1]
  /\ UNCHANGED <<horizon, deletedTo, table, mail, process, collector>>

TimestampHeard(p, s) ==
  /\ slot[p][s].state = IF HasSlowAnswers THEN "answered" ELSE "asking"
  /\ IF HasSlowAnswers THEN UNCHANGED last ELSE last < LastTimestamp /\ last' = last + 1
  /\ LET timestamp == IF HasSlowAnswers THEN slot[p][s].timestamp ELSE last'
     IN  /\ slot' = [slot EXCEPT ![p][s].state = "held", ![p][s].timestamp = timestamp,
                                 ![p][s].bound = timestamp]
         /\ process' = [process EXCEPT ![p].seen = Max(@, timestamp)]
  /\ UNCHANGED <<horizon, deletedTo, table, mail, collector>>

\* A pin below a bound that was sent must wait for a renewal before it counts.
Pinned(p, timestamp, before) ==
  LET isRegistered == process[p].isRegistered
      mustRenew == isRegistered /\ timestamp < process[p].largestSent /\ Mistake # "pins do not renew"
  IN  [before EXCEPT !.state = IF mustRenew THEN "pinning" ELSE "pinned", !.timestamp = timestamp,
                     !.bound = timestamp, !.isPin = TRUE, !.isEntry = TRUE,
                     !.counts = isRegistered /\ ~mustRenew]

Pin(p, s, timestamp) ==
  IF Mistake = "a pin looks at the horizon first"
  THEN \/ /\ slot[p][s] = Idle
          /\ horizon <= timestamp
          /\ Change(p, s, [Idle EXCEPT !.state = "looked", !.timestamp = timestamp])
       \/ /\ slot[p][s].state = "looked"
          /\ slot[p][s].timestamp = timestamp
          /\ Change(p, s, Pinned(p, timestamp, Idle))
  ELSE /\ slot[p][s] = Idle
       /\ Change(p, s, Pinned(p, timestamp, Idle))

PinSome(p, s) == \E timestamp \in 1..last : Pin(p, s, timestamp)

\* Then the process checks the horizon: was the pin in time?
PinChecked(p, s) ==
  /\ slot[p][s].state = "pinned"
  /\ Change(p, s, IF horizon <= slot[p][s].timestamp \/ Mistake = "a pin looks at the horizon first"
                  THEN [slot[p][s] EXCEPT !.state = "held"] ELSE Idle)

\* The snapshot is older than snapshotLifetimeMsMax: neither in the bound nor covered.
Forget(p, s) ==
  /\ "long use" \in Faults
  /\ slot[p][s].state = "held"
  /\ slot[p][s].isEntry
  /\ Change(p, s, [slot[p][s] EXCEPT !.isEntry = FALSE, !.counts = FALSE])

Release(p, s) ==
  /\ slot[p][s].state = "held"
  /\ Change(p, s, Idle)

(******************************************************************************)
(* Reading: a covered read is done. Otherwise check the horizon after the     *)
(* read. A read that misses nothing changes nothing here; only reads that miss*)
(* a version are modelled.                                                    *)
(******************************************************************************)
\* The store serves a read whose versions were partly deleted.
ReadMisses(p, s) ==
  /\ slot[p][s].state = IF Mistake = "readers look before they read" THEN "looked" ELSE "held"
  /\ deletedTo > slot[p][s].timestamp
  /\ Change(p, s, [slot[p][s] EXCEPT !.state = "missed"])

\* The mistake: check the horizon first, then read.
LookBeforeReading(p, s) ==
  /\ Mistake = "readers look before they read"
  /\ slot[p][s].state = "held"
  /\ horizon <= slot[p][s].timestamp
  /\ Change(p, s, [slot[p][s] EXCEPT !.state = "looked"])

\* Whether the reader receives the result. A reader that is uncovered once stays uncovered.
IsAnswered(p, s) ==
  \/ IsCovered(p, s)
  \/ horizon <= slot[p][s].timestamp
  \/ Mistake \in {"uncovered readers do not look", "readers look before they read"}

\* STALE_SNAPSHOT
ReadRefused(p, s) ==
  /\ slot[p][s].state = "missed"
  /\ ~IsAnswered(p, s)
  /\ Change(p, s, Idle)

(******************************************************************************)
(* The collector: N, leases, persist H, leases again, delete below D.         *)
(******************************************************************************)
Collecting(c, next) ==
  /\ collector' = [collector EXCEPT ![c] = next]
  /\ UNCHANGED <<last, mail, process, slot>>

Begin(c) ==
  /\ collector[c].state = "idle"
  /\ Collecting(c, [collector[c] EXCEPT !.state = "look 1",
         !.limit = IF Mistake = "timestamp after the leases" THEN LastTimestamp ELSE last])
  /\ UNCHANGED <<horizon, deletedTo, table>>

\* The leases are read. A lease that is old by now has lapsed if it is unchanged. The engine counts
\* the age only until it sends the read, and so gives up no lease earlier.
Served(my) ==
  [my EXCEPT !.state = IF @ = "look 1" THEN "answer 1" ELSE "answer 2",
             !.read = table,
             !.old = {p \in Processes : my.sightings[p].age >= Ttl}]

LeasesServed(c) ==
  /\ HasSlowAnswers
  /\ collector[c].state \in {"look 1", "look 2"}
  /\ Collecting(c, Served(collector[c]))
  /\ UNCHANGED <<horizon, deletedTo, table>>

IsUnchanged(my, p) == my.sightings[p].counter = my.read[p].counter
Lapsed(my) ==
  {p \in Processes : /\ my.read[p] # NoLease
                     /\ IsUnchanged(my, p)
                     /\ \/ p \in my.old
                        \/ Mistake = "age when the answer comes" /\ my.sightings[p].age >= Ttl}
Live(my) == {p \in Processes : my.read[p] # NoLease} \ Lapsed(my)

Sighting(my, p) ==
  CASE my.read[p] = NoLease -> NoSighting
    [] my.read[p] # NoLease /\ IsUnchanged(my, p) -> my.sightings[p]
    [] OTHER -> [counter |-> my.read[p].counter, age |-> 0]

\* The order of the steps is the algorithm.
After(state) ==
  CASE Mistake = "deletes before it persists" ->
         (CASE state = "answer 1" -> "look 2" [] state = "answer 2" -> "delete"
            [] state = "delete" -> "persist" [] state = "persist" -> "idle")
    [] Mistake = "no second look" ->
         (CASE state = "answer 1" -> "persist" [] state = "persist" -> "delete"
            [] state = "delete" -> "idle")
    [] OTHER ->
         (CASE state = "answer 1" -> "persist" [] state = "persist" -> "look 2"
            [] state = "answer 2" -> "delete" [] state = "delete" -> "idle")

LeasesHeard(c) ==
  LET my == IF HasSlowAnswers THEN collector[c] ELSE Served(collector[c])
      erased == {p \in Lapsed(my) : table[p].counter <= my.read[p].counter}
  IN  /\ collector[c].state \in IF HasSlowAnswers THEN {"answer 1", "answer 2"} ELSE {"look 1", "look 2"}
      /\ Collecting(c, [my EXCEPT !.state = After(my.state),
             !.limit = Min({my.limit} \cup {my.read[p].bound : p \in Live(my)}),
             !.read = [p \in Processes |-> NoLease], !.old = {},
             !.sightings = [p \in Processes |-> Sighting(my, p)]])
      /\ table' = [p \in Processes |-> IF p \in erased THEN NoLease ELSE table[p]]
      /\ UNCHANGED <<horizon, deletedTo>>

Persist(c) ==
  /\ collector[c].state = "persist"
  /\ horizon' = Max(horizon, Min({collector[c].limit, last}))
  /\ Collecting(c, [collector[c] EXCEPT !.state = After(@),
         !.limit = IF After("persist") = "idle" THEN 0 ELSE horizon'])
  /\ UNCHANGED <<deletedTo, table>>

Delete(c) ==
  /\ collector[c].state = "delete"
  /\ deletedTo' = Max(deletedTo, collector[c].limit)
  /\ Collecting(c, [collector[c] EXCEPT !.state = After(@),
         !.limit = IF After("delete") = "idle" THEN 0 ELSE @])
  /\ UNCHANGED <<horizon, table>>

\* It dies and begins again, or another one does: all sightings of leases are forgotten.
CollectorRestarts(c) ==
  /\ "restarts" \in Faults
  /\ collector[c].state # "idle"
  /\ Collecting(c, [state |-> "idle", limit |-> 0, read |-> [p \in Processes |-> NoLease], old |-> {},
                    sightings |-> [p \in Processes |-> NoSighting]])
  /\ UNCHANGED <<horizon, deletedTo, table>>

(******************************************************************************)
(* Time and the other processes.                                              *)
(******************************************************************************)
TimersOf(p) == {process[p].renewedAt} \cup (IF IsInFlight(p) THEN {process[p].sentAt} ELSE {})
ThatMatter(p) == {timer \in TimersOf(p) : timer # Over}

Tick ==
  /\ \E steps \in [Processes -> UNION {ClockSteps(ThatMatter(p)) : p \in Processes}] :
       /\ \A p \in Processes : steps[p] \in ClockSteps(ThatMatter(p))
       /\ process' = [p \in Processes |->
            [process[p] EXCEPT !.renewedAt = Later(@, steps[p]),
                               !.sentAt = IF IsInFlight(p) THEN Later(@, steps[p]) ELSE @]]
  /\ collector' = [c \in Collectors |-> [collector[c] EXCEPT !.sightings = [p \in Processes |->
       IF @[p] = NoSighting THEN NoSighting ELSE [@[p] EXCEPT !.age = Min({Ttl, @ + 1})]]]]
  /\ UNCHANGED <<last, horizon, deletedTo, table, mail, slot>>

\* The wall clock is set, forward or back.
Jump(p) ==
  /\ "jump" \in Faults
  /\ \E wall \in 0..CountedOn, flightWall \in 0..CountedOn :
       process' = [process EXCEPT ![p].renewedAt.wall = wall,
                                  ![p].sentAt.wall = IF IsInFlight(p) THEN flightWall ELSE @]
  /\ UNCHANGED <<last, horizon, deletedTo, table, mail, slot, collector>>

\* Another process asks for a timestamp.
HandOut ==
  /\ last < LastTimestamp
  /\ last' = last + 1
  /\ UNCHANGED <<horizon, deletedTo, table, mail, process, slot, collector>>

Next ==
  \/ Tick \/ HandOut
  \/ SomeLeaseArrives
  \/ \E p \in Processes :
       \/ Jump(p) \/ StartRenewal(p) \/ FreshTimestampServed(p) \/ FreshTimestampHeard(p)
       \/ RecordAndSend(p) \/ RenewalAnswered(p) \/ RenewalFails(p)
       \/ \E s \in Slots :
            \/ Enter(p, s) \/ TimestampServed(p, s) \/ TimestampHeard(p, s)
            \/ PinSome(p, s) \/ PinChecked(p, s) \/ Forget(p, s) \/ Release(p, s)
            \/ LookBeforeReading(p, s) \/ ReadMisses(p, s) \/ ReadRefused(p, s)
  \/ \E c \in Collectors :
       Begin(c) \/ LeasesServed(c) \/ LeasesHeard(c) \/ Persist(c) \/ Delete(c) \/ CollectorRestarts(c)

Spec == Init /\ [][Next]_vars

(******************************************************************************)
(* What must hold.                                                            *)
(******************************************************************************)
\* P31: no read is answered from a snapshot of which a collector may have deleted versions.
NoReadBelowDeletion ==
  \A p \in Processes, s \in Slots : ~(slot[p][s].state = "missed" /\ IsAnswered(p, s))

\* The same without a reader: no collector deletes what a process takes for covered.
CoveredIsKept ==
  \A p \in Processes, s \in Slots :
    slot[p][s].state \in {"held", "missed"} /\ IsCovered(p, s) => deletedTo <= slot[p][s].timestamp

\* No transaction is refused while it is covered: the horizon stays at or below its start timestamp.
\* A snapshot of the past may find the horizon above it although it was in time.
NoCoveredTransactionIsStale ==
  \A p \in Processes, s \in Slots :
    slot[p][s].state \in {"held", "missed"} /\ ~slot[p][s].isPin /\ IsCovered(p, s)
      => horizon <= slot[p][s].timestamp

\* Nothing is deleted above the horizon that all processes can read.
DeletionBelowHorizon == deletedTo <= horizon
===============================================================================
