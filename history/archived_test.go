package history

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/schedule"
)

// archivedTo is an archive that is as far as a test says.
type archivedTo struct{ Value progress.Progress }

func (a *archivedTo) Progress(context.Context, string, int) (progress.Progress, error) {
	return a.Value, nil
}

// TestKeptUntilArchived: a run that has expired stays until it is archived: until the archive has come that far, in the same stream, and has not left it
// behind, nor an earlier run of the workflow ID. Namespaces that ask for no archive wait for none.
func TestKeptUntilArchived(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	const keep = schedule.DefaultWorkflowRetention
	asks := schedule.Namespace{Name: space, Limits: schedule.NamespaceLimits{Archive: "jetstream://"}}
	is := &archivedTo{}
	s, _ := b.run(func(config *Config) {
		config.Now, config.SweepEvery, config.Archive, config.Namespaces = c.now, time.Hour, is, namespaces.Fixed{space: asks}
	})
	b.start("w")
	b.complete(b.pollWorkflow(), end())
	b.settled()
	stored := b.stored("w")
	last := stored[len(stored)-1].Sequence
	c.advance(keep + time.Hour)
	round := func(p progress.Progress) {
		is.Value = p
		_, err := newSweeper(s, s.shardOf(b.key("w"))).round(t.Context())
		require.NoError(t, err)
	}
	later := time.Now().Add(time.Hour)
	for name, p := range map[string]progress.Progress{
		"none":           {},
		"elsewhere":      {Archive: "file:///a", Through: last, At: later},
		"not so far":     {Archive: "jetstream://", Through: last - 1, At: later},
		"another stream": {Archive: "jetstream://", Through: last, At: time.Now().Add(-time.Hour)},
		"left behind":    {Archive: "jetstream://", Through: last, At: later, Left: []progress.Left{{End: last, WorkflowID: "w"}}},
		"another run":    {Archive: "jetstream://", Through: last, At: later, Left: []progress.Left{{End: 1, WorkflowID: "w"}}},
	} {
		round(p)
		require.Len(t, b.stored("w"), len(stored), name)
	}
	round(progress.Progress{Archive: "jetstream://", Through: last, At: later, Left: []progress.Left{{End: 1, WorkflowID: "other"}}})
	require.Empty(t, b.stored("w"))
}

// endOf starts a workflow, ends it, and returns its last entry.
func (b *bundle) endOf(id string) bus.Message {
	b.Helper()
	b.start(id)
	b.complete(b.pollWorkflow(), end())
	b.settled()
	stored := b.stored(id)
	return stored[len(stored)-1]
}

// TestUnreadableNamespace: as long as the record of a namespace cannot be read, nothing of it is removed: perhaps it asks for an archive.
func TestUnreadableNamespace(t *testing.T) {
	t.Parallel()
	b, c, record := setup(t), &clock{}, schedule.Namespace{Name: space, Unreadable: true}
	known := namespaces.Fixed{space: record}
	s, _ := b.run(func(config *Config) { config.Now, config.SweepEvery, config.Namespaces = c.now, time.Hour, known })
	b.endOf("w")
	c.advance(schedule.DefaultWorkflowRetention + time.Hour)
	w := newSweeper(s, s.shardOf(b.key("w")))
	_, err := w.round(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, b.stored("w"))
}

// TestKeptAfterAFailure: a run whose removal is tried again is asked about as strictly as any other. Meanwhile the archive may have turned out to be one of
// another stream.
func TestKeptAfterAFailure(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	is := &archivedTo{}
	asks := schedule.Namespace{Name: space, Limits: schedule.NamespaceLimits{Archive: "jetstream://"}}
	s, _ := b.run(func(config *Config) {
		config.Now, config.SweepEvery, config.Archive, config.Namespaces = c.now, time.Hour, is, namespaces.Fixed{space: asks}
	})
	last := b.endOf("w").Sequence
	c.advance(schedule.DefaultWorkflowRetention + time.Hour)
	w := newSweeper(s, s.shardOf(b.key("w")))
	round := func(p progress.Progress) {
		p.Archive, p.Through = "jetstream://", last
		is.Value = p
		_, err := w.round(t.Context())
		require.NoError(t, err)
	}
	round(progress.Progress{At: time.Now().Add(time.Hour), Left: []progress.Left{{End: last, WorkflowID: "w"}}})
	require.Len(t, w.left, 1)
	round(progress.Progress{At: time.Now().Add(-time.Hour)})
	require.NotEmpty(t, b.stored("w"))
	round(progress.Progress{At: time.Now().Add(time.Hour)})
	require.Empty(t, b.stored("w"))
}

// TestGroups: a namespace that asks for an archive is read on its own, and the others by their retention.
func TestGroups(t *testing.T) {
	t.Parallel()
	b := setup(t)
	day := schedule.Duration(24 * time.Hour)
	s, _ := b.run(func(config *Config) {
		config.SweepEvery = time.Hour
		config.Namespaces = namespaces.Fixed{
			"a": {Name: "a"}, "b": {Name: "b"}, "c": {Name: "c", Limits: schedule.NamespaceLimits{WorkflowRetention: day}},
			"d": {Name: "d", Limits: schedule.NamespaceLimits{Archive: "jetstream://"}}, "e": {Name: "e", Limits: schedule.NamespaceLimits{Archive: "jetstream://"}},
		}
	})
	const keep = schedule.DefaultWorkflowRetention
	require.Equal(t, map[group][]string{
		{keep: keep}: {"a", "b"}, {keep: day.Std()}: {"c"}, {keep: keep, archive: "d"}: {"d"}, {keep: keep, archive: "e"}: {"e"},
	}, newSweeper(s, 0).groups())
}
