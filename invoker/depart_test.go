package invoker_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// deleted deletes the schedule with a policy for its runs, as the frontend does, and waits until it is forgotten.
func (s *installation) deleted(policy schedule.RunsPolicy) {
	s.t.Helper()
	record, err := kv.GetLeader(s.t.Context(), s.store, kv.Definition(s.key))
	require.NoError(s.t, err)
	note := kv.Note{Deletion: &wire.Deletion{Incarnation: record.Value.Incarnation, Runs: policy}}
	require.NoError(s.t, kv.DeleteNoting(s.t.Context(), s.store, kv.Definition(s.key), record.Revision, note))
	s.send(s.names.InvokeDeleted(0, s.key), &wire.Wake{
		Incarnation: record.Value.Incarnation, Version: record.Value.Version + 1, Reason: wire.ReasonDeleted, Runs: policy,
	})
}

func (s *installation) send(subject string, message any) {
	s.t.Helper()
	body, err := codec.Marshal(message)
	require.NoError(s.t, err)
	s.publish(subject, body)
}

// left are the workflow IDs of the runs in the action stream.
func (s *installation) left() (workflows []string) {
	s.t.Helper()
	for _, msg := range s.history(s.names.ActionStream()) {
		var request schedule.ActionRequest
		if json.Unmarshal(msg.Data, &request) == nil {
			workflows = append(workflows, request.WorkflowID)
		}
	}
	return workflows
}

// controls are what has been asked of runs, by workflow ID.
func (s *installation) controls() map[string]schedule.ControlKind {
	s.t.Helper()
	all := map[string]schedule.ControlKind{}
	for _, msg := range s.history(s.names.ControlStream()) {
		var control schedule.Control
		require.NoError(s.t, json.Unmarshal(msg.Data, &control))
		all[control.WorkflowID] = control.Kind
	}
	return all
}

// ends are the statuses of the runs whose end the history tells of, by workflow ID.
func (s *installation) ends() map[string]schedule.Status {
	s.t.Helper()
	all := map[string]schedule.Status{}
	for _, msg := range s.history(s.names.EventStream()) {
		var event schedule.Event
		require.NoError(s.t, json.Unmarshal(msg.Data, &event))
		if event.Kind == schedule.EventCompleted {
			all[event.WorkflowID] = event.Status
		}
	}
	return all
}

// forgotten waits until there is no record of the schedule.
func (s *installation) forgotten() {
	s.t.Helper()
	natstest.Eventually(s.t, patience, "the schedule is forgotten", func() bool {
		_, err := kv.GetLeader(s.t.Context(), s.store, kv.Invoker(s.key))
		return err != nil
	})
	s.idle()
}

// TestRunsOfADeletedSchedule: of two runs a worker has taken one, and the other waits in the queue.
func TestRunsOfADeletedSchedule(t *testing.T) {
	t.Parallel()
	const terminated = schedule.StatusTerminated
	for policy, want := range map[schedule.RunsPolicy]struct {
		taken, queued bool // are in the action stream afterwards
		control       schedule.ControlKind
	}{
		"":                       {taken: true},
		schedule.RunsLeave:       {taken: true, queued: true},
		schedule.RunsWithdraw:    {taken: true},
		schedule.RunsCancel:      {taken: true, control: schedule.ControlCancel},
		schedule.RunsTerminate:   {control: schedule.ControlTerminate},
		"of some later release ": {taken: true},
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := running(t, runTimeout(time.Hour))
			s.deliver(s.handOff(schedule.OverlapAllowAll, 1, 2))
			s.awaitPhase(2, schedule.PhaseStarted)
			taken := s.take().WorkflowID
			queued := s.start(1).WorkflowID
			if queued == taken {
				queued = s.start(2).WorkflowID
			}
			s.deleted(policy)
			s.forgotten()

			left := s.left()
			assert.Equal(t, want.taken, slices.Contains(left, taken), "taken: %v", left)
			assert.Equal(t, want.queued, slices.Contains(left, queued), "queued: %v", left)
			assert.Equal(t, want.control, s.controls()[taken])
			ends := map[string]schedule.Status{}
			if !want.taken {
				ends[taken] = terminated
			}
			if !want.queued {
				ends[queued] = terminated
			}
			assert.Equal(t, ends, s.ends())
			assert.Len(t, s.messages(s.names.TimeoutTimers(0)), len(left), "only runs that are left can time out")
		})
	}
}

// messages are the subjects of the messages of the task stream that match a filter.
func (s *installation) messages(filter string) (subjects []string) {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), s.names.TaskStream(0))
	require.NoError(s.t, err)
	info, err := stream.Info(s.t.Context(), jetstream.WithSubjectFilter(filter))
	require.NoError(s.t, err)
	for subject := range info.State.Subjects {
		subjects = append(subjects, subject)
	}
	return subjects
}

// TestRunsOfAReplacedSchedule: a schedule is deleted and made anew before the invoker hears of that.
func TestRunsOfAReplacedSchedule(t *testing.T) {
	t.Parallel()
	for _, policy := range []schedule.RunsPolicy{"", schedule.RunsLeave, schedule.RunsTerminate} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := newInstallation(t)
			stop := s.run(s.newPool())
			s.deliver(s.handOff(schedule.OverlapAllowAll, 1, 2))
			s.awaitPhase(2, schedule.PhaseStarted)
			taken := s.take().WorkflowID
			stop()
			s.deleted(policy)
			s.define("nightly", func(d *wire.Definition) { d.Incarnation = "inc-anew" })
			s.run(s.newPool())
			s.wake()
			natstest.Eventually(t, patience, "the record is that of the new schedule", func() bool {
				return s.record().Incarnation == "inc-anew"
			})
			s.idle()
			want := map[schedule.RunsPolicy]int{"": 1, schedule.RunsLeave: 2, schedule.RunsTerminate: 0}[policy]
			assert.Len(t, s.left(), want)
			if policy == schedule.RunsTerminate {
				assert.Equal(t, schedule.ControlTerminate, s.controls()[taken])
			}
		})
	}
}

// TestAskedToEndThenDeleted: what a run has been asked for before its schedule is deleted reaches it all the same.
func TestAskedToEndThenDeleted(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	stop := s.run(s.newPool())
	s.due(1)
	s.awaitPhase(1, schedule.PhaseStarted)
	run := s.take()
	stop()
	state := s.record()
	state.Starts[0].Ending = schedule.ControlTerminate
	state.Controls = []wire.PendingControl{{
		Kind: schedule.ControlTerminate, RequestID: run.RequestID, WorkflowID: run.WorkflowID, RunID: run.RunID, TaskQueue: "q",
	}}
	record, err := kv.GetLeader(t.Context(), s.store, kv.Invoker(s.key))
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), s.store, kv.Invoker(s.key), &state, record.Revision)
	require.NoError(t, err)
	s.deleted(schedule.RunsLeave)
	s.run(s.newPool())
	s.forgotten()
	assert.Equal(t, schedule.ControlTerminate, s.controls()[run.WorkflowID])
	assert.Empty(t, s.left())
}

// TestEndStray: a run is left whose schedule is gone, or another one by now, and somebody ends it.
func TestEndStray(t *testing.T) {
	t.Parallel()
	for _, kind := range []schedule.ControlKind{schedule.ControlCancel, schedule.ControlTerminate} {
		for _, anew := range []bool{false, true} {
			for _, hasWorker := range []bool{false, true} {
				name := map[bool]string{false: string(kind) + " gone", true: string(kind) + " anew"}[anew]
				name += map[bool]string{false: " queued", true: " taken"}[hasWorker]
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := running(t)
					s.due(1)
					s.awaitPhase(1, schedule.PhaseStarted)
					start := s.record().Starts[0]
					if hasWorker {
						s.take()
					}
					s.deleted(schedule.RunsLeave)
					s.forgotten()
					if anew {
						s.define("nightly", func(d *wire.Definition) { d.Incarnation = "inc-anew" })
					}
					end := &wire.EndRun{
						Kind: kind, RequestID: start.RequestID, WorkflowID: start.WorkflowID, RunID: start.RunID, TaskQueue: "q",
						Identity: "ann", Reason: "nobody wants it",
					}
					s.send(s.names.InvokeEnd(0, s.key, kind, start.RequestID), end)
					s.idle()

					over := kind == schedule.ControlTerminate || !hasWorker
					assert.Equal(t, over, len(s.left()) == 0)
					if hasWorker || kind == schedule.ControlTerminate {
						assert.Equal(t, kind, s.controls()[start.WorkflowID])
					}
					want := map[string]schedule.Status{}
					if over {
						want[start.WorkflowID] = map[schedule.ControlKind]schedule.Status{
							schedule.ControlCancel: schedule.StatusCanceled, schedule.ControlTerminate: schedule.StatusTerminated,
						}[kind]
					}
					assert.Equal(t, want, s.ends())
				})
			}
		}
	}
}

func TestDepartures(t *testing.T) {
	t.Parallel()
	start := func(id string, phase schedule.Phase, ending schedule.ControlKind) wire.BufferedStart {
		return wire.BufferedStart{RequestID: id, Phase: phase, Ending: ending}
	}
	state := &wire.InvokerState{
		Starts: []wire.BufferedStart{
			start("waits", schedule.PhasePending, ""), start("ready", schedule.PhaseReady, ""),
			start("runs", schedule.PhaseStarted, ""), start("canceled", schedule.PhaseStarted, schedule.ControlCancel),
			start("terminated", schedule.PhaseStarted, schedule.ControlTerminate),
		},
		Controls: []wire.PendingControl{
			{Kind: schedule.ControlTerminate, RequestID: "given up"}, {Kind: schedule.ControlCancel, RequestID: "canceled"},
		},
	}
	const cancel, terminate = schedule.ControlCancel, schedule.ControlTerminate
	for policy, want := range map[schedule.RunsPolicy][]schedule.ControlKind{
		schedule.RunsLeave:     {"", "", cancel, terminate, terminate},
		schedule.RunsWithdraw:  {"", "", cancel, terminate, terminate},
		schedule.RunsCancel:    {cancel, cancel, cancel, terminate, terminate},
		schedule.RunsTerminate: {terminate, terminate, terminate, terminate, terminate},
	} {
		all := invoker.Departures(state, policy)
		require.Len(t, all, len(want), policy)
		for i, name := range []string{"ready", "runs", "canceled", "terminated", "given up"} {
			assert.Equal(t, name, all[i].Control.RequestID, policy)
			assert.Equal(t, want[i], all[i].Control.Kind, "%s: %s", policy, name)
			assert.Equal(t, policy != schedule.RunsLeave || want[i] != "", all[i].Withdraw, "%s: %s", policy, name)
			assert.Equal(t, i < 4, all[i].Start != nil, "%s: %s", policy, name)
		}
	}
}
