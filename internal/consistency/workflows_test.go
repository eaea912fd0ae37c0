package consistency_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestLostDeadline: the delayed message of a workflow that waits for a timer is set again.
func TestLostDeadline(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	f.history()
	f.begin("w")
	require.NoError(t, f.respond(f.workflowTask(), startTimer("t", time.Hour)))
	f.settled()
	require.Empty(t, f.finds(false))
	f.wakeless("w")
	report, err := f.checker.Check(t.Context(), "", false)
	require.NoError(t, err)
	require.Equal(t, [3]int{0, 1, 1}, [3]int{report.Schedules, report.Workflows, len(report.Findings)})
	f.mends(consistency.DeadlineMissing)
	require.True(t, f.there(f.names.TaskStream(f.shard(flow("w"))), f.names.ExecutionTimers(f.shard(flow("w")), flow("w"))))
}

// TestLostDeadlineThatHasPassed: a workflow whose timer nobody let fire goes on, and ends.
func TestLostDeadlineThatHasPassed(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	f.later(5 * time.Minute)
	stop := f.history()
	f.begin("w")
	require.NoError(t, f.respond(f.workflowTask(), startTimer("t", 2*time.Second)))
	f.settled()
	stop()
	f.wakeless("w")
	found := f.finds(true)
	require.Equal(t, []consistency.Kind{consistency.DeadlineMissing}, kindsOf(found))
	require.True(t, found[0].Repaired)
	f.history()
	f.ends("w")
}

// TestLostTask: a task that no queue has is put into its queue again, and the workflow ends.
func TestLostTask(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	f.history()
	f.begin("w")
	f.settled()
	require.Empty(t, f.finds(false))
	f.purge(f.names.BacklogStream(), f.names.Backlogs())
	f.mends(consistency.TaskMissing)
	require.NoError(t, f.respond(f.workflowTask(), scheduleActivity("a")))
	f.settled()
	f.purge(f.names.BacklogStream(), f.names.Backlogs())
	f.mends(consistency.TaskMissing)
	require.NoError(t, f.respondActivity(f.activityTask()))
	f.ends("w")
}

// TestLostTaskOfAnActivityThatWasReset: the task from before the reset is still there, and does not stand for the lost one. The one that is put into the
// queue again reaches a worker.
func TestLostTaskOfAnActivityThatWasReset(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	f.history()
	f.begin("w")
	require.NoError(t, f.respond(f.workflowTask(), scheduleActivity("a")))
	f.settled()
	require.NoError(t, call.Ask(t.Context(), f.conn, f.subject("w", subjects.VerbResetActivity), &workflowservice.ResetActivityRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: "w"}, Activity: &workflowservice.ResetActivityRequest_Id{Id: "a"},
	}, nil))
	f.settled()
	require.Empty(t, f.finds(false))
	stream, err := f.js.Stream(t.Context(), f.names.BacklogStream())
	require.NoError(t, err)
	queue := f.names.Backlog(offer.Queue{Namespace: "default", Kind: offer.Activity, Name: "flows"})
	last, err := stream.GetLastMsgForSubject(t.Context(), queue)
	require.NoError(t, err)
	require.NoError(t, stream.DeleteMsg(t.Context(), last.Sequence))
	_, err = stream.GetLastMsgForSubject(t.Context(), queue)
	require.NoError(t, err, "the task from before the reset")
	f.mends(consistency.TaskMissing)
	require.NoError(t, f.respondActivity(f.activityTask()))
	f.ends("w")
}

// dropLast removes the last entry of a journal, as a server might that loses its newest writes.
func (f *flows) dropLast(id string) {
	f.Helper()
	shard := f.shard(flow(id))
	stream, err := f.js.Stream(f.Context(), f.names.JournalStream(shard))
	require.NoError(f, err)
	last, err := stream.GetLastMsgForSubject(f.Context(), f.names.Journal(shard, flow(id)))
	require.NoError(f, err)
	require.NoError(f, stream.DeleteMsg(f.Context(), last.Sequence))
}

// TestLostWorkForOthers: the entries are lost that say what came of a child's start, or of a signal. History does it again, which does no harm.
func TestLostWorkForOthers(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]*commandpb.Command{"child": startChild("child"), "signal": signalOther("nobody")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlows(t)
			stop := f.history()
			f.begin("w")
			require.NoError(t, f.respond(f.workflowTask(), command))
			f.settled()
			stop()
			f.dropLast("w")
			f.purge(f.names.JournalStream(f.shard(flow("child"))), f.names.Journal(f.shard(flow("child")), flow("child")))
			f.purge(f.names.BacklogStream(), f.names.Backlogs())
			found := f.finds(true)
			require.Equal(t, []consistency.Kind{consistency.WorkMissing}, kindsOf(found))
			f.history()
			for f.status("w") == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				task := f.workflowTask()
				events := task.GetHistory().GetEvents()
				if task.GetWorkflowExecution().GetWorkflowId() == "w" && events[len(events)-3].GetEventType() == enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED {
					require.NoError(t, f.respond(task))
					continue
				}
				require.NoError(t, f.respond(task, completeFlow()))
			}
			require.Empty(t, f.finds(false))
		})
	}
}

// TestEndOfAChildThatNobodyTold: the parent has lost the entry with which it learned how its child ended. It is told again, and ends.
func TestEndOfAChildThatNobodyTold(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	stop := f.history()
	f.begin("w")
	require.NoError(t, f.respond(f.workflowTask(), startChild("child")))
	tasks := map[string]*workflowservice.PollWorkflowTaskQueueResponse{}
	for range 2 {
		task := f.workflowTask()
		tasks[task.GetWorkflowExecution().GetWorkflowId()] = task
	}
	require.NoError(t, f.respond(tasks["w"]))
	require.NoError(t, f.respond(tasks["child"], completeFlow()))
	f.settled()
	stop()
	f.dropLast("w")
	f.purge(f.names.BacklogStream(), f.names.Backlogs())
	found := f.finds(true)
	require.Equal(t, []consistency.Kind{consistency.EndUntold}, kindsOf(found))
	f.history()
	f.ends("w")
	require.Empty(t, f.finds(false))
}

// TestDamagedJournal: what cannot be replayed is named, and left to a person. The other workflows go on.
func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	stop := f.history()
	for _, id := range []string{"text", "foreign", "gap", "headless", "good"} {
		f.begin(id)
		require.NoError(t, f.respond(f.workflowTask(), startTimer("t", time.Hour)))
	}
	f.settled()
	stop()
	for id, body := range map[string]string{"text": "\x01not an entry", "foreign": "\x02and more"} {
		_, err := f.js.Publish(t.Context(), f.names.Journal(f.shard(flow(id)), flow(id)), []byte(body))
		require.NoError(t, err)
	}
	f.dropEntry("gap", 1)
	f.dropEntry("headless", 0)
	found := map[string]consistency.Kind{}
	for _, one := range f.finds(true) {
		assert.False(t, one.Repairable)
		found[one.WorkflowID] = one.Kind
	}
	require.Equal(t, map[string]consistency.Kind{
		"text": consistency.JournalDamaged, "foreign": consistency.JournalForeign, "gap": consistency.JournalDamaged,
		"headless": consistency.JournalDamaged,
	}, found)
}

// dropEntry removes an entry of a journal.
func (f *flows) dropEntry(id string, index int) {
	f.Helper()
	shard := f.shard(flow(id))
	stream, err := f.js.Stream(f.Context(), f.names.JournalStream(shard))
	require.NoError(f, err)
	for from := uint64(1); ; index-- {
		msg, err := stream.GetMsg(f.Context(), from, jetstream.WithGetMsgSubject(f.names.Journal(shard, flow(id))))
		require.NoError(f, err)
		if index == 0 {
			require.NoError(f, stream.DeleteMsg(f.Context(), msg.Sequence))
			return
		}
		from = msg.Sequence + 1
	}
}

// TestLeftoversOfNoWorkflow: delayed messages and tasks of a workflow without a journal are removed.
func TestLeftoversOfNoWorkflow(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	f.history()
	f.begin("w")
	f.settled()
	f.purge(f.names.JournalStream(f.shard(flow("w"))), f.names.Journal(f.shard(flow("w")), flow("w")))
	shard, at := f.shard(flow("x")), time.Now().Add(time.Hour)
	_, err := f.js.PublishMsg(t.Context(), &nats.Msg{Subject: f.names.ExecutionTimer(shard, flow("x"), at), Header: nats.Header{
		"Nats-Schedule": {"@at " + at.UTC().Format(time.RFC3339)}, "Nats-Schedule-Target": {f.names.ExecutionDue(shard, flow("x"))},
	}})
	require.NoError(t, err)
	f.mends(consistency.TaskOrphaned, consistency.TimerOrphaned)
}

// TestScrubberMendsWorkflows: a lost deadline, a lost task and a stranded message are found in the background, and the workflows end.
func TestScrubberMendsWorkflows(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	stop := f.history()
	for id, after := range map[string]time.Duration{"stranded": 2 * time.Second, "sleeping": time.Hour} {
		f.begin(id)
		require.NoError(t, f.respond(f.workflowTask(), startTimer("t", after)))
	}
	f.begin("waiting")
	f.settled()
	stop()
	f.passOver("stranded")
	f.wakeless("sleeping")
	f.purge(f.names.BacklogStream(), f.names.Backlogs())
	f.background(f.scrubber(nil).Run)
	stream, timers := f.names.TaskStream(f.shard(flow("sleeping"))), f.names.ExecutionTimers(f.shard(flow("sleeping")), flow("sleeping"))
	f.eventually("the deadline is set again", func() bool { return f.there(stream, timers) })
	f.history()
	ended := map[string]bool{}
	for len(ended) < 2 {
		task := f.workflowTask()
		require.NoError(t, f.respond(task, completeFlow()))
		ended[task.GetWorkflowExecution().GetWorkflowId()] = true
	}
	require.Equal(t, map[string]bool{"stranded": true, "waiting": true}, ended)
}

// TestEndThatNobodyTold: the report of a workflow's end is lost. The schedule is told how it really ended.
func TestEndThatNobodyTold(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	f.later(2 * time.Hour)
	f.history()
	key := f.create("a", 100*time.Hour, func(r *schedule.CreateRequest) {
		r.Action = schedule.Action{Kind: schedule.ActionWorkflow, Type: "greet", TaskQueue: "flows"}
	})
	f.trigger("a")
	task := f.workflowTask()
	var running []schedule.Run
	f.eventually("it runs", func() bool {
		running = f.describe("a").Info.RunningWorkflows
		return len(running) == 1
	})
	shard := f.shard(key)
	stream, config := f.names.CallbackStream(shard), f.names.ConsumersOfPool(shard, subjects.PoolInvoker)[1].Config
	deaf := config
	deaf.FilterSubjects = []string{f.names.Callback(shard, key, "none", "none")}
	_, err := f.js.UpdateConsumer(t.Context(), stream, deaf)
	require.NoError(t, err)
	require.NoError(t, f.respond(task, completeFlow()))
	f.eventually("the report is stored", func() bool { return f.there(stream, f.names.Callbacks(shard)) })
	f.purge(stream, f.names.Callbacks(shard))
	_, err = f.js.UpdateConsumer(t.Context(), stream, config)
	require.NoError(t, err)
	f.mends(consistency.EndUntold)
	f.completes("a", wire.BufferedStart{RunID: running[0].RunID})
}

// TestStrandedWake: a message for history that its consumer has passed over is sent again.
func TestStrandedWake(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	stop := f.history()
	f.begin("w")
	require.NoError(t, f.respond(f.workflowTask(), startTimer("t", 2*time.Second)))
	f.settled()
	stop()
	f.passOver("w")
	f.mends(consistency.TaskStranded)
	f.history()
	f.ends("w")
}

// passOver waits for the message that wakes history because of a workflow, and loses it as a server might: see plantPassedOver.
func (f *flows) passOver(id string) {
	f.Helper()
	shard := f.shard(flow(id))
	stream, config := f.names.TaskStream(shard), f.names.ConsumersOfPool(shard, subjects.PoolHistory)[0].Config
	narrow, later := config, f.names.ExecutionDue(shard, flow("later"))
	narrow.FilterSubjects = []string{later}
	consumer, err := f.js.UpdateConsumer(f.Context(), stream, narrow)
	require.NoError(f, err)
	f.eventually("the timer has fired", func() bool { return f.there(stream, f.names.ExecutionDue(shard, flow(id))) })
	_, err = f.js.Publish(f.Context(), later, nil)
	require.NoError(f, err)
	msg, err := consumer.Next()
	require.NoError(f, err)
	require.NoError(f, msg.DoubleAck(f.Context()))
	_, err = f.js.UpdateConsumer(f.Context(), stream, config)
	require.NoError(f, err)
}

// TestBusyWorkflowsAreConsistent checks again and again while workflows begin, go on and end.
func TestBusyWorkflowsAreConsistent(t *testing.T) {
	t.Parallel()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	flowsOn(newInstallationOn(t, conn, js, 1, busyPause)).areConsistentWhileBusy()
}

// TestBusyWorkflowsOfAClusterAreConsistent does the same with replicas that lag behind their leaders.
func TestBusyWorkflowsOfAClusterAreConsistent(t *testing.T) {
	t.Parallel()
	cluster := natstest.Cluster(t, 3)
	conn, js := natstest.Connect(t, cluster.URLs())
	flowsOn(newInstallationOn(t, conn, js, 3, busyPause)).areConsistentWhileBusy()
}

func (f *flows) areConsistentWhileBusy() {
	f.Helper()
	t := f.T
	f.history()
	f.history()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for range 4 {
		running.Go(func() { f.workOn(ctx) })
		running.Go(func() { f.workOnActivities(ctx) })
	}
	running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			f.begin(fmt.Sprint("w", n))
		}
	})
	var log bytes.Buffer
	running.Go(func() { assert.NoError(t, f.scrubber(slog.New(slog.NewTextHandler(&log, nil))).Run(ctx)) })
	for range busyLooks {
		report, err := f.checker.Check(ctx, "", false)
		require.NoError(t, err)
		for _, one := range report.Findings {
			assert.Fail(t, "inconsistent", "%s %s %s: %s", one.WorkflowID, one.Kind, one.About, one.What)
		}
		t.Logf("%d workflows", report.Workflows)
	}
	stop()
	running.Wait()
	assert.Empty(t, log.String(), "what the scrubber has found")
}

// workOn works on workflows with an activity, a timer, a child, and a signal to another workflow, until ctx ends.
func (f *flows) workOn(ctx context.Context) {
	for ctx.Err() == nil {
		var task workflowservice.PollWorkflowTaskQueueResponse
		if !f.poll(ctx, offer.Workflow, &task) {
			continue
		}
		id := task.GetWorkflowExecution().GetWorkflowId()
		commands := []*commandpb.Command{scheduleActivity("a"), startTimer("t", 100*time.Millisecond), startChild("c-" + id), signalOther(id + "0")}
		if strings.HasPrefix(id, "c-") {
			commands = []*commandpb.Command{completeFlow()}
		} else if events := task.GetHistory().GetEvents(); len(events) > 3 {
			commands = nil
			if task.GetStartedEventId() > 16 {
				commands = []*commandpb.Command{completeFlow()}
			}
		}
		f.tolerate(f.respond(&task, commands...))
	}
}

func (f *flows) workOnActivities(ctx context.Context) {
	for ctx.Err() == nil {
		var task workflowservice.PollActivityTaskQueueResponse
		if f.poll(ctx, offer.Activity, &task) {
			f.tolerate(f.respondActivity(&task))
		}
	}
}

// tolerate accepts that a workflow has ended, or that the test has.
func (f *flows) tolerate(err error) {
	if err != nil && f.Context().Err() == nil && !errors.Is(err, context.Canceled) {
		f.Log(err)
	}
}
