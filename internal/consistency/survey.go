package consistency

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// listing is the names of what is stored about one schedule.
type listing struct {
	tasks     []string
	timers    []Timer
	backfills []string
}

// survey is the names of what is stored about some schedules of a shard.
type survey struct {
	shard int
	found map[schedule.Key]*listing
	// floors are up to which message the consumer of each pool takes all as acknowledged. They are asked for before
	// messages are looked for: one that is there after that, and not above, has been passed over.
	floors map[string]uint64
}

func (v *survey) of(key schedule.Key) *listing {
	l := v.found[key]
	if l == nil {
		l = &listing{}
		v.found[key] = l
	}
	return l
}

// surveyShard lists a shard; an empty namespace means all.
func (r *reader) surveyShard(ctx context.Context, shard int, namespace string) (*survey, error) {
	filter := ">"
	if namespace != "" {
		filter = namespace + ".>"
	}
	v, err := r.survey(ctx, shard, filter, ">")
	if err == nil && namespace != "" {
		for key := range v.found {
			if key.Namespace != namespace {
				delete(v.found, key)
			}
		}
	}
	return v, err
}

// surveySchedule lists one schedule.
func (r *reader) surveySchedule(ctx context.Context, key schedule.Key) (*survey, error) {
	shard := r.store.ShardOf(key)
	v, err := r.survey(ctx, shard, subjects.StateKey(key, ">"), r.messagesOf(shard, key)...)
	if err == nil {
		v.of(key)
	}
	return v, err
}

// messagesOf are filters for the tasks and timers of a schedule.
func (r *reader) messagesOf(shard int, key schedule.Key) []string {
	prefix, id := r.names.Prefix(), subjects.Escape(key.ID)
	return []string{
		fmt.Sprintf("%s.task.%d.*.%s.%s.*", prefix, shard, key.Namespace, id),
		fmt.Sprintf("%s.callback.%d.%s.*.%s.*", prefix, shard, key.Namespace, id),
		fmt.Sprintf("%s.timer.%d.*.%s.%s", prefix, shard, key.Namespace, id),
		fmt.Sprintf("%s.timer.%d.*.%s.%s.*", prefix, shard, key.Namespace, id),
	}
}

func newSurvey(shard int) *survey {
	return &survey{shard: shard, found: map[schedule.Key]*listing{}, floors: map[string]uint64{}}
}

func (r *reader) survey(ctx context.Context, shard int, keys string, filters ...string) (*survey, error) {
	v := newSurvey(shard)
	names, err := r.buckets.Keys(ctx, r.names.StateBucket(shard), keys)
	if err != nil {
		return nil, fmt.Errorf("consistency: list the records of shard %d: %w", shard, err)
	}
	for _, name := range names {
		v.addRecord(name)
	}
	tasks := false
	for _, filter := range filters {
		listed, err := r.streams.Listed(ctx, r.names.TaskStream(shard), filter)
		if err != nil {
			return nil, fmt.Errorf("consistency: list the messages of shard %d: %w", shard, err)
		}
		for _, subject := range listed {
			tasks = v.addMessage(r.names, subject) || tasks
		}
	}
	if !tasks {
		return v, nil
	}
	return v, r.floors(ctx, v)
}

func (v *survey) addRecord(name string) {
	key, err := subjects.ParseStateKey(name)
	if err != nil {
		return // it is none of ours
	}
	l := v.of(key)
	if id, ok := strings.CutPrefix(name, subjects.BackfillKey(key, "")); ok && !slices.Contains(l.backfills, id) {
		l.backfills = append(l.backfills, id)
	}
}

// addMessage reports whether a subject is that of a task.
func (v *survey) addMessage(names subjects.Names, subject string) bool {
	if task, err := names.ParseTask(subject); err == nil {
		v.of(task.Key).tasks = append(v.of(task.Key).tasks, subject)
		return true
	}
	if key, timer, ok := parseTimer(names, subject); ok {
		v.of(key).timers = append(v.of(key).timers, timer)
	}
	return false
}

func (r *reader) floors(ctx context.Context, v *survey) error {
	for _, pool := range []string{subjects.PoolGenerator, subjects.PoolInvoker, subjects.PoolBackfiller} {
		floor, err := r.streams.Floor(ctx, r.names.TaskStream(v.shard), pool)
		if err != nil {
			return fmt.Errorf("consistency: the consumer of the %s: %w", pool, err)
		}
		v.floors[pool] = floor
	}
	return nil
}

// poolOf is the pool that the tasks of a role are for.
func poolOf(role string) string {
	switch role {
	case roleGenerate:
		return subjects.PoolGenerator
	case roleBackfill:
		return subjects.PoolBackfiller
	}
	return subjects.PoolInvoker
}
