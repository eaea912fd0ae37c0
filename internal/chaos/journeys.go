package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	sdkclient "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// travelled is one workflow of the load, and what is known of it.
type travelled struct {
	ID string `json:"id"`
	// RunID is that of the start that was acknowledged; empty if none was.
	RunID string `json:"run_id"`
	// Acked are the signals that were acknowledged, by what they say of themselves.
	Acked []string `json:"acked"`
	// Booked says that the update was answered.
	Booked bool `json:"booked"`
	// Ended says that a client has got the result, or the failure.
	Ended   bool   `json:"ended"`
	Result  int    `json:"result"`
	Failure string `json:"failure,omitempty"`
	// Newest is the ID of the newest run at the end of the trial, and Events are the history of RunID.
	Newest string                    `json:"newest"`
	Events []*historypb.HistoryEvent `json:"-"`
	// Excursion is the child. It has no runs if the history has none.
	Excursion excursionRun `json:"excursion"`
}

// excursionRun is the child of a workflow.
type excursionRun struct {
	Newest string `json:"newest"`
	// Runs are the IDs of its runs, from the one that its parent knows, each with the history at the same place in Events.
	Runs   []string                    `json:"runs"`
	Events [][]*historypb.HistoryEvent `json:"-"`
}

// journeys starts workflows as users of Temporal's SDK do, signals them, and waits for their results. It is safe for concurrent use.
type journeys struct {
	client sdkclient.Client

	mu  sync.Mutex
	all []*travelled
	// going counts the workflows that are not over.
	going int
}

func newJourneys(addresses []string) (*journeys, error) {
	c, err := sdkclient.NewLazyClient(GatewaysAt(addresses, slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	return &journeys{client: c}, nil
}

// run starts a number of workflows, evenly over a time, and follows each to its end, or to that of ctx.
func (j *journeys) run(ctx context.Context, count int, duration time.Duration) {
	var group sync.WaitGroup
	for i := range count {
		if sleep.For(ctx, duration/time.Duration(count)) != nil {
			break
		}
		one := &travelled{ID: fmt.Sprintf("journey-%05d", i)}
		j.mu.Lock()
		j.all = append(j.all, one)
		j.going++
		j.mu.Unlock()
		group.Go(func() { j.follow(ctx, one) })
	}
	group.Wait()
}

// follow makes the requests about one workflow, each until it is answered.
func (j *journeys) follow(ctx context.Context, one *travelled) {
	var run sdkclient.WorkflowRun
	ok := j.until(ctx, func() (err error) {
		run, err = j.client.ExecuteWorkflow(ctx, sdkclient.StartWorkflowOptions{ID: one.ID, TaskQueue: taskQueue}, journeyType)
		return err
	})
	if !ok {
		return
	}
	j.change(func() { one.RunID = run.GetRunID() })
	for i := range signals {
		if !j.signal(ctx, one, i) || i == 0 && !j.book(ctx, one) {
			return
		}
	}
	var result int
	var failed *temporal.WorkflowExecutionError
	ok = j.until(ctx, func() error {
		err := run.Get(ctx, &result)
		if errors.As(err, &failed) {
			return nil
		}
		return err
	})
	if ok {
		j.change(func() {
			one.Ended, one.Result = true, result
			j.going--
			if failed != nil {
				one.Failure = failed.Error()
			}
		})
	}
}

// signal sends a signal until it is acknowledged, or an attempt without an answer has let the workflow end.
func (j *journeys) signal(ctx context.Context, one *travelled, number int) bool {
	try := 0
	return j.until(ctx, func() error {
		try++
		text := fmt.Sprintf("%d.%d", number, try)
		err := j.client.SignalWorkflow(ctx, one.ID, one.RunID, signalName, leg{number, text})
		if err == nil {
			j.change(func() { one.Acked = append(one.Acked, text) })
		}
		if errors.As(err, new(*serviceerror.NotFound)) && try > 1 {
			return nil
		}
		return err
	})
}

// book sends an update until it is answered. All attempts have one ID, so they are one update.
func (j *journeys) book(ctx context.Context, one *travelled) bool {
	return j.until(ctx, func() error {
		handle, err := j.client.UpdateWorkflow(ctx, sdkclient.UpdateWorkflowOptions{
			UpdateID: updateName, WorkflowID: one.ID, RunID: one.RunID, UpdateName: updateName, Args: []any{signals},
			WaitForStage: sdkclient.WorkflowUpdateStageCompleted,
		})
		if err != nil {
			return err
		}
		var legs int
		if err := handle.Get(ctx, &legs); err != nil {
			return err
		}
		j.change(func() { one.Booked = legs == signals })
		return nil
	})
}

// until repeats a request until it is answered. It returns false if ctx ends before.
func (j *journeys) until(ctx context.Context, send func() error) bool {
	for {
		if err := send(); err == nil {
			return true
		}
		if sleep.For(ctx, repeatWait) != nil {
			return false
		}
	}
}

func (j *journeys) change(do func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	do()
}

// open counts the workflows that are not over.
func (j *journeys) open() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.going
}

// look returns all workflows, with the histories of those that are started.
func (j *journeys) look(ctx context.Context) ([]travelled, error) {
	j.mu.Lock()
	all, own := make([]travelled, len(j.all)), slices.Clone(j.all)
	for i, one := range own {
		all[i] = *one
	}
	j.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(lanes)
	for i := range all {
		one := &all[i]
		if one.RunID == "" || one.Events != nil {
			continue
		}
		group.Go(func() error {
			err := j.read(ctx, one)
			if err == nil && one.Ended { // it will not change
				j.change(func() { own[i].Newest, own[i].Events, own[i].Excursion = one.Newest, one.Events, one.Excursion })
			}
			return err
		})
	}
	return all, group.Wait()
}

// read reads what the installation says of a workflow and its child. One that it does not know has no events.
func (j *journeys) read(ctx context.Context, one *travelled) (err error) {
	if one.Newest, err = j.newest(ctx, one.ID); err != nil || one.Newest == "" {
		return err
	}
	if one.Events, err = j.history(ctx, one.ID, one.RunID); err != nil {
		return err
	}
	child := excursionRun{}
	run := childOf(one.Events)
	for run != "" {
		events, err := j.history(ctx, excursionOf(one.ID), run)
		if err != nil {
			return err
		}
		child.Runs, child.Events = append(child.Runs, run), append(child.Events, events)
		run = execution.NextRun(events[len(events)-1])
	}
	child.Newest, err = j.newest(ctx, excursionOf(one.ID))
	one.Excursion = child
	return err
}

// newest returns the ID of the newest run of a workflow; empty if the installation does not know it.
func (j *journeys) newest(ctx context.Context, id string) (string, error) {
	newest, err := j.client.DescribeWorkflow(ctx, id, "")
	switch {
	case errors.As(err, new(*serviceerror.NotFound)):
		return "", nil
	case err != nil:
		return "", err
	}
	return newest.WorkflowExecution.RunID, nil
}

// history returns the events of a run; there is at least one.
func (j *journeys) history(ctx context.Context, id, run string) (all []*historypb.HistoryEvent, err error) {
	events := j.client.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, err
		}
		all = append(all, event)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("workflow %s has no events in run %s", id, run)
	}
	return all, nil
}

// childOf returns the ID of the first run of the child that a history has started; empty if it has started none.
func childOf(events []*historypb.HistoryEvent) string {
	for _, event := range events {
		if started := event.GetChildWorkflowExecutionStartedEventAttributes(); started != nil {
			return started.GetWorkflowExecution().GetRunId()
		}
	}
	return ""
}
