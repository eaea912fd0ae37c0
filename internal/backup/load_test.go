package backup_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/audit"
	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// TestUnderLoad tests the promise of a backup. The backup is made while everything moves, and each of its steps waits until much
// has happened since the last one. Runs that the backup knows to have ended do not run again, nothing that was pending is
// forgotten, and afterwards everything is consistent.
func TestUnderLoad(t *testing.T) {
	t.Parallel()
	underLoad(t, natstest.Server(t), func() *natsserver.Server { return natstest.Server(t) }, topology.Settings{Shards: 2})
}

// policies are all overlap policies.
var policies = []schedule.OverlapPolicy{
	schedule.OverlapSkip, schedule.OverlapBufferOne, schedule.OverlapBufferAll, schedule.OverlapCancelOther,
	schedule.OverlapTerminateOther, schedule.OverlapAllowAll,
}

// underLoad moves an installation from one server to another, which is created when the first is not needed any more.
func underLoad[T server](t *testing.T, from T, to func() T, settings topology.Settings) {
	old := connectInstallation(t, from, natstest.Names(t))
	before := &ledger{work: uneven}
	old.start(settings, before)
	ids := old.load()
	natstest.Eventually(t, natstest.Patience, "all schedules have run", func() bool {
		for _, id := range ids {
			if before.of(id) == 0 {
				return false
			}
		}
		return true
	})

	dir, manifest := old.backupUnder(before)
	old.stop()
	old.conn.Close()
	restored := connectInstallation(t, to(), old.names)
	summary := restored.restore(dir, backup.RestoreConfig{})
	assert.Positive(t, summary.Deferred+summary.Started+summary.Completed, "the records were behind the events")
	assert.Empty(t, summary.Lost)

	restored.open(topology.Settings{})
	completed, pending := restored.history()
	t.Logf("backup of %d files, %d bytes: %d runs had ended, %d actions were pending",
		2*len(manifest.Streams), manifest.Bytes(), len(completed), len(pending))
	after := &ledger{work: uneven}
	restored.start(topology.Settings{}, after)
	natstest.Eventually(t, natstest.Patience, "what was pending has ended", func() bool {
		_, left := restored.history()
		for id := range pending {
			if left[id] {
				return false
			}
		}
		return true
	})
	counts := map[string]int{}
	for _, run := range after.all() {
		assert.False(t, completed[run.requestID], "run %s of %s had ended and runs again", run.requestID, run.scheduleID)
		counts[run.requestID]++
	}
	for id, count := range counts {
		assert.Equal(t, 1, count, id)
	}
	restored.audit(ids)
	restored.consistent()
}

// uneven is a run that takes up to 1.4 s. How long depends on the run, and is the same each time.
func uneven(ctx context.Context, run *worker.Run) error {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(run.RequestID))
	timer := time.NewTimer(time.Duration(hash.Sum32()%1400) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// load creates schedules of all policies, some of them with a backfill or a trigger, and returns their IDs.
func (s *installation) load() []string {
	s.Helper()
	var ids []string
	for _, policy := range policies {
		for i := range 3 {
			id := fmt.Sprintf("%s-%d", strings.ReplaceAll(string(policy), "_", "-"), i)
			ids = append(ids, id)
			s.create(id, every(time.Second, policy))
		}
	}
	end := time.Now().Add(-time.Hour)
	for _, policy := range policies[1:3] {
		id := strings.ReplaceAll(string(policy), "_", "-") + "-0"
		_, err := s.client.Backfill(s.Context(), schedule.BackfillRequest{ID: id, BackfillRange: schedule.BackfillRange{
			Start: end.Add(-30 * time.Second), End: end, Overlap: schedule.OverlapAllowAll,
		}})
		require.NoError(s, err)
	}
	return ids
}

// backupUnder makes a backup. Each of its steps waits for a few more runs.
func (s *installation) backupUnder(l *ledger) (string, *backup.Manifest) {
	s.Helper()
	dir := s.TempDir() + "/backup"
	m, err := backup.Create(s.Context(), backup.CreateConfig{
		JS: s.js, Names: s.names, Facts: s.facts, Version: "test",
		Progress: func(step string, done, of int) {
			had := len(l.all())
			natstest.Eventually(s, natstest.Patience, "more has run", func() bool { return len(l.all()) > had+2 })
		},
	}, dir)
	require.NoError(s, err)
	return dir, m
}

// history returns the runs that have ended, and the starts that are known and whose end no event reports.
func (s *installation) history() (completed, pending map[string]bool) {
	s.Helper()
	completed, pending = map[string]bool{}, map[string]bool{}
	page := s.events(everything)
	for i := range page.Entries {
		if e := &page.Entries[i]; e.Kind == schedule.EventDeferred || e.Kind == schedule.EventStarted {
			pending[e.RequestID] = true
		}
	}
	for i := range page.Entries {
		switch e := &page.Entries[i]; e.Kind {
		case schedule.EventCompleted:
			completed[e.RequestID] = true
			delete(pending, e.RequestID)
		case schedule.EventSkipped, schedule.EventMissed, schedule.EventDropped:
			delete(pending, e.RequestID)
		}
	}
	return completed, pending
}

// everything is all events.
var everything events.Query

// events reads the history. A busy cluster may not have made the consumer yet when the test asks for messages.
func (s *installation) events(query events.Query) (page events.Page) {
	s.Helper()
	natstest.Eventually(s, natstest.Patience, "the history can be read", func() (ok bool) {
		page = events.Page{More: true}
		for page.More {
			next, err := events.NewReader(s.js, s.names).Page(s.Context(), query, page.Next, 1_000_000)
			if err != nil {
				return false
			}
			page.Entries, page.Next, page.More = append(page.Entries, next.Entries...), next.Next, next.More
		}
		return true
	})
	return page
}

// audit compares what the events say with the specs.
func (s *installation) audit(ids []string) {
	s.Helper()
	for _, id := range ids {
		description := s.describe(id)
		page := s.events(events.Query{Key: schedule.Key{Namespace: "default", ID: id}})
		in := audit.Input{Description: &description, Now: time.Now(), Slack: 5 * time.Second}
		for i := range page.Entries {
			in.Events = append(in.Events, page.Entries[i].Event)
		}
		report, err := audit.Run(s.Context(), in)
		require.NoError(s, err)
		assert.Empty(s, report.Findings, id)
	}
}

// consistent checks that everything that is stored is consistent.
func (s *installation) consistent() {
	s.Helper()
	checker, err := consistency.New(s.Context(), consistency.Config{
		JS: s.js, Names: s.names, Shards: s.facts.Shards, Pause: 2 * time.Second,
	})
	require.NoError(s, err)
	defer checker.Close()
	report, err := checker.Check(s.Context(), "", false)
	require.NoError(s, err)
	assert.Positive(s, report.Schedules)
	assert.Empty(s, report.Findings)
}
