package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	sdkclient "go.temporal.io/sdk/client"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// measureSignals sends signals to one workflow, which ends when it has taken all of them. Small workflows of the same shard run before and meanwhile.
func measureSignals(ctx context.Context, s *session) error {
	return s.withWorker(ctx, func(c sdkclient.Client) error {
		id := s.workflowID(kindCollector, "", 0)
		if err := s.alone(ctx, c, "without signals", s.mates("without", id)); err != nil {
			return err
		}
		_, _, err := s.during(ctx, func() error {
			return s.beside(ctx, c, "beside signals", s.mates("beside", id), func() error { return s.sendSignals(ctx, c, id) })
		})
		return err
	})
}

// sendSignals starts a workflow, sends the signals from all clients, and waits until the workflow has taken them.
func (s *session) sendSignals(ctx context.Context, c sdkclient.Client, id string) error {
	run, err := s.start(ctx, c, kindCollector, id, s.size())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longestWorkflow)
	defer cancel()
	began := time.Now()
	sending := func(done int64) bool { return done < int64(s.size()) }
	err = s.hammer(ctx, "signal", sending, func(ctx context.Context, _ int64) error {
		return c.SignalWorkflow(ctx, id, "", signalName, nil)
	})
	if err != nil {
		return err
	}
	s.result.time("signals_sent", time.Since(began))
	if s.result.Operations["signal"].Errors > 0 {
		s.result.count(1, 0)
		return nil // the workflow waits for signals that do not come
	}
	return s.awaitSignals(ctx, run, began)
}

// awaitSignals waits until a workflow has taken the signals that were sent since began.
func (s *session) awaitSignals(ctx context.Context, run sdkclient.WorkflowRun, began time.Time) error {
	s.config.Progress("waiting until it has taken them", 0, 0)
	if err := run.Get(ctx, nil); err != nil {
		return fmt.Errorf("bench: wait for %s: %w", run.GetID(), err)
	}
	s.result.time("signals_taken", time.Since(began))
	s.result.count(1, 1)
	return nil
}

// mates returns IDs for the workflows of a load: those in the shard of a workflow ID. In which shard of a foreign server an ID is, is not
// known, so there they are in any. The returned function is for one goroutine, and counts by itself.
func (s *session) mates(load, of string) func(int) string {
	next := 0
	return func(int) string {
		for {
			id := s.workflowID(kindEmpty, load, next)
			next++
			if s.foreign() || s.shardOf(id) == s.shardOf(of) {
				return id
			}
		}
	}
}

func (s *session) shardOf(id string) int {
	return subjects.ShardOf(schedule.Key{Namespace: s.namespace(), ID: id}, s.cluster.Facts.Shards)
}

// parallelSamples is how many workflows with parallel activities are run, one after the other.
const parallelSamples = 3

// measureParallel runs workflows that start many activities at once and wait for all of them.
func measureParallel(ctx context.Context, s *session) error {
	return s.withWorker(ctx, func(c sdkclient.Client) error {
		result, code := newHistogram(), newHistogram()
		_, _, err := s.during(ctx, func() error {
			for i := range parallelSamples {
				s.config.Progress("workflows with parallel activities", i, parallelSamples)
				if err := s.runFan(ctx, c, s.workflowID(kindFan, "", i), result, code); err != nil {
					return err
				}
			}
			return nil
		})
		s.result.operation("workflow with "+strconv.Itoa(s.size())+" activities", Operation{Count: parallelSamples, Latency: result.quantiles()})
		s.result.operation("from its start to an activity", Operation{Count: int(code.hdr.TotalCount()), Latency: code.quantiles()})
		return err
	})
}

// runFan runs one workflow with parallel activities, and notes how long it took, and when each activity ran.
func (s *session) runFan(ctx context.Context, c sdkclient.Client, id string, result, code histogram) error {
	ctx, cancel := context.WithTimeout(ctx, longestWorkflow)
	defer cancel()
	asked := time.Now()
	run, err := s.start(ctx, c, kindFan, id, "", s.size())
	if err != nil {
		return err
	}
	var stamps []int64
	if err := run.Get(ctx, &stamps); err != nil {
		return fmt.Errorf("bench: wait for %s: %w", id, err)
	}
	result.add(time.Since(asked))
	for _, at := range stamps {
		code.add(time.Unix(0, at).Sub(asked))
	}
	s.result.count(len(stamps), len(stamps))
	return nil
}
