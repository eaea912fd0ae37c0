// Package scheduleproto writes schedules as Temporal's clients know them, and reads what those clients send.
//
// Some parts of Carillon's schedules have no place in Temporal's API, and the other way round. The rules:
//
//   - [Schedule] shows such a part of a spec as a calendar that never matches, with a comment that begins with "carillon:". It shows a run
//     of Carillon's own protocol as a workflow type that begins with "carillon-run:". Nobody can create a schedule with either of them.
//   - [Replace] keeps such parts. It refuses an update that would lose one.
//   - [Parse] refuses what Carillon cannot keep, and names the field.
//
// All functions are pure. Errors are values of schedule.Error, or of Temporal's package serviceerror.
//
// The package may import schedule, internal/jsontext, internal/search/query, internal/wire and internal/workflows.
package scheduleproto

import (
	"encoding/binary"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Schedule returns a schedule as describe shows it: calendars and cron expressions as structured calendars, and policies with their defaults.
func Schedule(s *schedule.Schedule) (*schedulepb.Schedule, error) {
	spec, err := specProto(&s.Spec)
	if err != nil {
		return nil, schedule.Prefix("spec", err)
	}
	action, err := actionProto(&s.Action)
	if err != nil {
		return nil, schedule.Prefix("action", err)
	}
	return &schedulepb.Schedule{
		Spec: spec, Action: action,
		Policies: &schedulepb.SchedulePolicies{
			OverlapPolicy: overlapProto(s.Policies.Overlap.Or(schedule.OverlapSkip)), CatchupWindow: durationpb.New(s.Policies.Catchup()),
			PauseOnFailure: s.Policies.PauseOnFailure, KeepOriginalWorkflowId: s.Policies.KeepOriginalWorkflowID,
		},
		State: &schedulepb.ScheduleState{
			Notes: s.State.Notes, Paused: s.State.Paused,
			LimitedActions: s.State.LimitedActions, RemainingActions: int64(s.State.RemainingActions),
		},
	}, nil
}

// Parse reads a new schedule.
func Parse(p *schedulepb.Schedule) (schedule.Schedule, error) {
	s, err := parse(p)
	if err != nil {
		return s, err
	}
	return s, checkShown(&s)
}

// parse reads a schedule that may have what only [Schedule] writes.
func parse(p *schedulepb.Schedule) (s schedule.Schedule, err error) {
	if s.Spec, err = parseSpec(p.GetSpec()); err != nil {
		return s, schedule.Prefix("schedule.spec", err)
	}
	if s.Action, err = parseAction(p.GetAction()); err != nil {
		return s, schedule.Prefix("schedule.action", err)
	}
	if s.Policies, err = parsePolicies(p.GetPolicies()); err != nil {
		return s, schedule.Prefix("schedule.policies", err)
	}
	state := p.GetState()
	s.State = schedule.State{
		Notes: state.GetNotes(), Paused: state.GetPaused(),
		LimitedActions: state.GetLimitedActions(), RemainingActions: int(state.GetRemainingActions()),
	}
	return s, nil
}

func parsePolicies(p *schedulepb.SchedulePolicies) (policies schedule.Policies, err error) {
	policies = schedule.Policies{PauseOnFailure: p.GetPauseOnFailure(), KeepOriginalWorkflowID: p.GetKeepOriginalWorkflowId()}
	if policies.CatchupWindow, err = parseDuration("catchupWindow", p.GetCatchupWindow()); err != nil {
		return policies, err
	}
	policies.Overlap, err = parseOverlap(p.GetOverlapPolicy())
	return policies, err
}

// Replace returns what a schedule becomes when a client of Temporal updates it. What the client was shown and leaves as it was stays exactly
// as it is stored. An update of a spec or an action that has parts that the client cannot see is refused.
func Replace(current *schedule.Schedule, p *schedulepb.Schedule) (schedule.Schedule, error) {
	next, err := parse(p)
	if err != nil {
		return next, err
	}
	before, err := Schedule(current)
	if err != nil {
		return next, err
	}
	after, err := Schedule(&next)
	if err != nil {
		return next, err
	}
	if proto.Equal(before.Policies, after.Policies) {
		next.Policies = current.Policies
	}
	next.Policies.ConcurrencyLimit, next.Policies.CatchupMode = current.Policies.ConcurrencyLimit, current.Policies.CatchupMode
	next.Policies.LostRuns = current.Policies.LostRuns
	next.Memo, next.SearchAttributes = current.Memo, current.SearchAttributes
	if err := replaceSpec(current, &next, before.Spec, after.Spec); err != nil {
		return next, err
	}
	return next, replaceAction(current, &next, proto.Equal(before.Action, after.Action))
}

func replaceSpec(current, next *schedule.Schedule, before, after *schedulepb.ScheduleSpec) error {
	if proto.Equal(before, after) {
		next.Spec = current.Spec
		return nil
	}
	if hidden := hiddenParts(&current.Spec, before); len(hidden) > 0 {
		return serviceerror.NewFailedPrecondition("schedule.spec: has " + strings.Join(hidden, ", ") + ", which Temporal's clients " +
			"cannot change: send the spec as it is described, or change it by carillon schedule")
	}
	return schedule.Prefix("schedule.spec", checkSpec(&next.Spec))
}

func replaceAction(current, next *schedule.Schedule, same bool) error {
	switch {
	case same:
		next.Action = current.Action
		return nil
	case !current.Action.Kind.IsWorkflow():
		return serviceerror.NewFailedPrecondition("schedule.action: starts a run of Carillon's own protocol, which Temporal's clients " +
			"cannot change: send the action as it is described, or change it by carillon schedule")
	}
	return schedule.Prefix("schedule.action", checkAction(&next.Action))
}

// checkShown refuses a new schedule with parts that stand for what cannot be seen.
func checkShown(s *schedule.Schedule) error {
	if err := checkSpec(&s.Spec); err != nil {
		return schedule.Prefix("schedule.spec", err)
	}
	return schedule.Prefix("schedule.action", checkAction(&s.Action))
}

// overlapProto returns an overlap policy of Temporal. Both lists have the same order, and Temporal's begins with "unspecified".
func overlapProto(p schedule.OverlapPolicy) enumspb.ScheduleOverlapPolicy {
	for i, known := range schedule.OverlapPolicies() {
		if p == known {
			return enumspb.ScheduleOverlapPolicy(i + 1)
		}
	}
	return enumspb.SCHEDULE_OVERLAP_POLICY_UNSPECIFIED
}

func parseOverlap(p enumspb.ScheduleOverlapPolicy) (schedule.OverlapPolicy, error) {
	known := schedule.OverlapPolicies()
	switch {
	case p == enumspb.SCHEDULE_OVERLAP_POLICY_UNSPECIFIED:
		return schedule.OverlapUnspecified, nil
	case p < 0 || int(p) > len(known):
		return "", schedule.Invalid("overlapPolicy", "%d is not known", p)
	}
	return known[p-1], nil
}

// tokenBytes is the size of a conflict token.
const tokenBytes = 8

// Token writes a conflict token.
func Token(token uint64) []byte { return binary.BigEndian.AppendUint64(nil, token) }

// ParseToken reads a conflict token. Without one it returns 0, which stands for any version.
func ParseToken(token []byte) (uint64, error) {
	switch len(token) {
	case 0:
		return 0, nil
	case tokenBytes:
		return binary.BigEndian.Uint64(token), nil
	}
	return 0, schedule.Invalid("conflictToken", "is not a token of an earlier answer")
}
