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

// KindAll stands for all kinds of workflows.
const KindAll = "all"

func workflowsScenario() Scenario {
	return Scenario{
		Name:  "workflows",
		Short: "workflows on Temporal's SDK: one at a time, from N clients, and three times as many as possible",
		Takes: []string{ParamKind, ParamClients, ParamWarmup, ParamDuration},
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
	// CPU is the processor time for each workflow in milliseconds, of all processes. WorkerCPU is the share of the worker.
	CPU       Milliseconds `json:"cpu_ms_per_workflow"`
	WorkerCPU Milliseconds `json:"worker_cpu_ms_per_workflow"`
}

// words says how fast it was and what it took.
func (w *WorkflowLoad) words() string {
	offered := ""
	if w.Offered > 0 {
		offered = digits(w.Offered) + "/s offered, "
	}
	published := ""
	if w.Published > 0 {
		published = " (" + digits(w.Published) + " published)"
	}
	return fmt.Sprintf("%s%s/s completed (%s/s to the last), %d errors; for each %s messages%s, %s KiB, %s ms CPU (worker %s)",
		offered, digits(w.Completed), digits(w.CompletedToTheLast), w.Errors, digits(w.Messages), published, digits(w.Bytes/1024), digits(w.CPU),
		digits(w.WorkerCPU))
}

func measureWorkflows(ctx context.Context, s *session) error {
	kinds := []string{s.Kind}
	if s.Kind == KindAll {
		kinds = WorkflowKinds()
	}
	return s.withWorker(ctx, func(c sdkclient.Client) error {
		from, to, err := s.during(ctx, func() (err error) {
			for i := 0; i < len(kinds) && err == nil; i++ {
				err = s.measureKind(ctx, c, kinds[i])
			}
			return err
		})
		s.result.RawBytes = to.traffic.journalSize(from.traffic)
		return err
	})
}

// measureKind measures a kind of workflow under all loads.
func (s *session) measureKind(ctx context.Context, c sdkclient.Client, kind string) error {
	_, err := s.closedLoad(ctx, c, kind, loadIdle, 1)
	if err != nil {
		return err
	}
	best, err := s.closedLoad(ctx, c, kind, loadBusy, s.Clients)
	if err != nil {
		return err
	}
	const times = 3
	return s.openLoad(ctx, c, kind, times*float64(best))
}

// withWorker calls do with a client, while a worker runs in a process of its own. The worker goes on afterwards.
func (s *session) withWorker(ctx context.Context, do func(sdkclient.Client) error) (err error) {
	if s.workers == nil {
		if s.workers, err = newChildren(s.config.Binary, s.fail); err != nil {
			return err
		}
	}
	if s.workers.all[processWorker] == nil {
		if err := s.startWorker(ctx); err != nil {
			return err
		}
	}
	return s.withClient(ctx, do)
}

// startWorker starts the process of the worker, and returns when it polls.
func (s *session) startWorker(ctx context.Context) error {
	out, err := s.workers.start(processWorker, true, WorkflowCommand, s.gateway, "--log-level", "error")
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer stop()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return errors.Join(fmt.Errorf("bench: the worker does not begin: %w: %s", err, s.workers.all[processWorker].log.text()), context.Cause(ctx))
	}
	return nil
}

// withClient calls do with a client.
func (s *session) withClient(ctx context.Context, do func(sdkclient.Client) error) error {
	c, err := dialSDK(ctx, s.gateway)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

// workflowID is the ID of a workflow.
func workflowID(kind, load string, i int) string {
	return "bench-" + kind + "-" + strings.ReplaceAll(load, " ", "-") + "-" + strconv.Itoa(i)
}

// longestWorkflow is how long a client waits for a workflow. Under overload, many wait for some time.
const longestWorkflow = 5 * time.Minute

// workflowRun is a client's request for a workflow, and what became of it.
type workflowRun struct {
	asked, began, done time.Time
	err                error
}

// runWorkflow runs one workflow and waits for its result.
func runWorkflow(ctx context.Context, c sdkclient.Client, kind, id string) (r workflowRun) {
	ctx, cancel := context.WithTimeout(ctx, longestWorkflow)
	defer cancel()
	r.asked = time.Now()
	run, err := c.ExecuteWorkflow(ctx, sdkclient.StartWorkflowOptions{ID: id, TaskQueue: taskQueue}, kind)
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
