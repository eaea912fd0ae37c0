package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdkclient "go.temporal.io/sdk/client"
)

// KindAll stands for the kinds of workflows that are run under several loads.
const KindAll = "all"

// workflowsName is the name of the scenario.
const workflowsName = "workflows"

func workflowsScenario() Scenario {
	return Scenario{
		Name:  workflowsName,
		Short: "workflows on Temporal's SDK: one at a time, from N clients, and too many; or another workload",
		Takes: []string{ParamKind, ParamSize, ParamRate, ParamClients, ParamWarmup, ParamDuration},
		Defaults: Parameters{
			Kind: KindAll, Clients: 64, Warmup: Seconds(2 * time.Second), Duration: Seconds(5 * time.Second),
		},
		measure: measureWorkflows,
	}
}

// The loads under which each kind of workflow is measured.
const (
	// loadIdle is one workflow after the other.
	loadIdle = "one at a time"
	// loadBusy is several clients, each of which starts the next workflow when it has the result of the last one.
	loadBusy = "from clients"
	// loadOver is starts at three times the rate that was completed for the clients, whatever is completed.
	loadOver = "overload"
	// loadRate is starts at a rate that was asked for.
	loadRate = "at a rate"
)

// WorkflowLoad is what was measured of one kind of workflow under one load.
type WorkflowLoad struct {
	Kind string `json:"kind"`
	Load string `json:"load"`
	// Clients is how many clients there were; Offered is how many starts per second were asked for, whatever the answers.
	Clients int  `json:"clients,omitempty"`
	Offered Rate `json:"offered_per_s,omitempty"`
	// Completed is how many results per second the clients got during the measurement.
	Completed Rate `json:"completed_per_s"`
	// CompletedToTheLast is the same from the first request to the last result, warm-up and backlog included.
	CompletedToTheLast Rate `json:"completed_to_the_last_per_s"`
	// Count is how many workflows the latencies are of, Errors how many starts or waits failed.
	Count  int `json:"count"`
	Errors int `json:"errors"`
	// FirstCode is the time from a client's request until the code of the workflow began, and Result until the client had the result.
	FirstCode *Quantiles `json:"first_code_ms"`
	Result    *Quantiles `json:"result_ms"`
	// Messages and Bytes are what NATS stored for each workflow. Bytes is what was there at the end.
	Messages         Rate            `json:"messages_per_workflow"`
	MessagesByStream map[string]Rate `json:"messages_per_workflow_by_stream,omitempty"`
	Bytes            Rate            `json:"bytes_per_workflow"`
	// Published and PublishedBytes are what the roles sent to NATS for each workflow, stored or not. Zero if they are other processes.
	Published      Rate `json:"published_per_workflow,omitempty"`
	PublishedBytes Rate `json:"published_bytes_per_workflow,omitempty"`
	// CPU is the processor time for each workflow in milliseconds, of all processes. WorkerCPU is the share of the worker, ServerCPU that of the
	// server, where it is known.
	CPU       Milliseconds `json:"cpu_ms_per_workflow"`
	WorkerCPU Milliseconds `json:"worker_cpu_ms_per_workflow"`
	ServerCPU Milliseconds `json:"server_cpu_ms_per_workflow,omitempty"`
}

// words says how fast it was and what it took.
func (w *WorkflowLoad) words() string {
	offered := ""
	if w.Offered > 0 {
		offered = digits(w.Offered) + "/s offered, "
	}
	text := fmt.Sprintf("%s%s/s completed (%s/s to the last), %d errors", offered, digits(w.Completed), digits(w.CompletedToTheLast), w.Errors)
	if w.CPU == 0 {
		return text
	}
	text += "; for each "
	if w.Messages > 0 {
		published := ""
		if w.Published > 0 {
			published = " (" + digits(w.Published) + " published)"
		}
		text += fmt.Sprintf("%s messages%s, %s KiB, ", digits(w.Messages), published, digits(w.Bytes/1024))
	}
	text += digits(w.CPU) + " ms CPU (worker " + digits(w.WorkerCPU)
	if w.ServerCPU > 0 {
		text += ", server " + digits(w.ServerCPU)
	}
	return text + ")"
}

func measureWorkflows(ctx context.Context, s *session) error {
	before, err := s.traffic(ctx)
	if err != nil {
		return err
	}
	if w := workloadOf(s.Kind); w.measure != nil {
		err = w.measure(ctx, s)
	} else {
		err = s.measureLoads(ctx)
	}
	if err != nil {
		return err
	}
	after, err := s.traffic(ctx)
	s.result.RawBytes = after.journalSize(before) // the raw puts are then as large
	return err
}

// measureLoads measures one kind of workflow, or all, under several loads.
func (s *session) measureLoads(ctx context.Context) error {
	kinds := []string{s.Kind}
	if s.Kind == KindAll {
		kinds = loadKinds
	}
	return s.withWorker(ctx, func(c sdkclient.Client) error {
		_, _, err := s.during(ctx, func() (err error) {
			for i := 0; i < len(kinds) && err == nil; i++ {
				err = s.measureKind(ctx, c, kinds[i])
			}
			return err
		})
		return err
	})
}

// measureKind measures a kind of workflow under all loads, or at one rate.
func (s *session) measureKind(ctx context.Context, c sdkclient.Client, kind string) error {
	if s.Rate > 0 {
		return s.openLoad(ctx, c, kind, loadRate, float64(s.Rate))
	}
	_, err := s.closedLoad(ctx, c, kind, loadIdle, 1)
	if err != nil {
		return err
	}
	best, err := s.closedLoad(ctx, c, kind, loadBusy, s.Clients)
	if err != nil {
		return err
	}
	const times = 3
	return s.openLoad(ctx, c, kind, loadOver, times*float64(best))
}

// withWorker calls do with a client, while a worker runs in a process of its own. The worker goes on afterwards.
func (s *session) withWorker(ctx context.Context, do func(sdkclient.Client) error) (err error) {
	if err := s.prepareWorkers(); err != nil {
		return err
	}
	if s.workers.all[processWorker] == nil {
		if s.counts, err = s.startWorker(ctx, processWorker, s.queue); err != nil {
			return err
		}
	}
	return s.withClient(ctx, do)
}

// prepareWorkers makes it possible to start workers.
func (s *session) prepareWorkers() (err error) {
	if s.workers == nil {
		s.workers, err = newChildren(s.config.Binary, s.fail)
	}
	return err
}

// startWorker starts a worker of a task queue as a process, and returns its counts when it polls.
func (s *session) startWorker(ctx context.Context, name, queue string) (*workerCounts, error) {
	out, err := s.workers.start(name, true, WorkflowCommand, s.gateway, s.namespace(), queue, "--log-level", "error")
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer stop()
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: the worker does not begin: %w: %s", err, s.workers.all[name].log.text()), context.Cause(ctx))
	}
	counts := &workerCounts{}
	go counts.follow(lines)
	return counts, nil
}

// withClient calls do with a client.
func (s *session) withClient(ctx context.Context, do func(sdkclient.Client) error) error {
	c, err := dialSDK(ctx, s.gateway, s.namespace())
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

// workflowID is the ID of a workflow.
func (s *session) workflowID(kind, load string, i int) string {
	return s.queue + "-" + kind + "-" + strings.ReplaceAll(load, " ", "-") + "-" + strconv.Itoa(i)
}

// longestWorkflow is how long a client waits for a workflow. Under overload, many wait for some time.
const longestWorkflow = 5 * time.Minute

// workflowRun is a client's request for a workflow, and what became of it.
type workflowRun struct {
	asked, began, done time.Time
	err                error
}

// runWorkflow runs one workflow and waits for its result.
func (s *session) runWorkflow(ctx context.Context, c sdkclient.Client, kind, id string) (r workflowRun) {
	ctx, cancel := context.WithTimeout(ctx, longestWorkflow)
	defer cancel()
	r.asked = time.Now()
	run, err := s.start(ctx, c, kind, id)
	if err == nil && kind == kindSignal {
		err = c.SignalWorkflow(ctx, id, "", signalName, nil)
	}
	var began int64
	if err == nil {
		err = run.Get(ctx, &began)
	}
	r.done, r.began, r.err = time.Now(), time.Unix(0, began), err
	return r
}

// start starts a workflow.
func (s *session) start(ctx context.Context, c sdkclient.Client, kind, id string, args ...any) (sdkclient.WorkflowRun, error) {
	run, err := c.ExecuteWorkflow(ctx, sdkclient.StartWorkflowOptions{ID: id, TaskQueue: s.queue}, kind, args...)
	if err != nil {
		return nil, fmt.Errorf("bench: start %s: %w", id, err)
	}
	return run, nil
}
