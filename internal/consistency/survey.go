package consistency

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// listing has the names of everything that is stored about one schedule.
type listing struct {
	tasks     []string
	timers    []Timer
	backfills []string
}

// survey has the names of everything that is stored about some schedules of a shard.
type survey struct {
	shard int
	found map[schedule.Key]*listing
	// floors are the sequences up to which each consumer counts all messages as acknowledged. They are read before the messages.
	// So a message that is read later and is not above its floor has been passed over.
	floors map[consumer]uint64
}

// consumer is the consumer of a pool on a stream.
type consumer struct{ stream, pool string }

func (v *survey) of(key schedule.Key) *listing {
	l := v.found[key]
	if l == nil {
		l = &listing{}
		v.found[key] = l
	}
	return l
}

// surveyShard lists a shard. An empty namespace means all.
func (r *reader) surveyShard(ctx context.Context, shard int, namespace string) (*survey, error) {
	filter := ">"
	if namespace != "" {
		filter = namespace + ".>"
	}
	all := []string{">"}
	v, err := r.survey(ctx, shard, filter, map[string][]string{r.names.TaskStream(shard): all, r.names.CallbackStream(shard): all})
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
	v, err := r.survey(ctx, shard, subjects.StateKey(key, ">"), map[string][]string{
		r.names.TaskStream(shard):     r.tasksOf(shard, key),
		r.names.CallbackStream(shard): {fmt.Sprintf("%s.callback.%d.%s.*.%s.*", r.names.Prefix(), shard, key.Namespace, subjects.Escape(key.ID))},
	})
	if err == nil {
		v.of(key)
	}
	return v, err
}

// tasksOf returns filters for the tasks and timers of a schedule.
func (r *reader) tasksOf(shard int, key schedule.Key) []string {
	prefix, id := r.names.Prefix(), subjects.Escape(key.ID)
	return []string{
		fmt.Sprintf("%s.task.%d.*.%s.%s.*", prefix, shard, key.Namespace, id),
		fmt.Sprintf("%s.timer.%d.*.%s.%s", prefix, shard, key.Namespace, id),
		fmt.Sprintf("%s.timer.%d.*.%s.%s.*", prefix, shard, key.Namespace, id),
	}
}

func newSurvey(shard int) *survey {
	return &survey{shard: shard, found: map[schedule.Key]*listing{}, floors: map[consumer]uint64{}}
}

// survey lists what is stored about the schedules with some keys, and the messages that match the filters of each stream.
func (r *reader) survey(ctx context.Context, shard int, keys string, filters map[string][]string) (*survey, error) {
	v := newSurvey(shard)
	names, err := r.buckets.Keys(ctx, r.names.StateBucket(shard), keys)
	if err != nil {
		return nil, fmt.Errorf("consistency: list the records of shard %d: %w", shard, err)
	}
	for _, name := range names {
		v.addRecord(name)
	}
	tasks := false
	for _, stream := range []string{r.names.TaskStream(shard), r.names.CallbackStream(shard)} {
		for _, filter := range filters[stream] {
			listed, err := r.streams.Listed(ctx, stream, filter)
			if err != nil {
				return nil, fmt.Errorf("consistency: list the messages of %s: %w", stream, err)
			}
			for _, subject := range listed {
				tasks = v.addMessage(r.names, subject) || tasks
			}
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
		return // it is not ours
	}
	l := v.of(key)
	if id, ok := strings.CutPrefix(name, subjects.BackfillKey(key, "")); ok && !slices.Contains(l.backfills, id) {
		l.backfills = append(l.backfills, id)
	}
}

// addMessage adds the message on a subject, unless it is about an execution. It reports whether the message is a task.
func (v *survey) addMessage(names subjects.Names, subject string) bool {
	if task, err := names.ParseTask(subject); err == nil {
		if task.Role == subjects.RoleExecution {
			return false
		}
		v.of(task.Key).tasks = append(v.of(task.Key).tasks, subject)
		return true
	}
	if key, timer, ok := parseTimer(names, subject); ok {
		v.of(key).timers = append(v.of(key).timers, timer)
	}
	return false
}

func (r *reader) floors(ctx context.Context, v *survey) error {
	for _, of := range r.names.PoolConsumers(v.shard) {
		pool := of.Config.Durable
		floor, err := r.streams.Floor(ctx, of.Stream, pool)
		if err != nil {
			return fmt.Errorf("consistency: the consumer of the %s on %s: %w", pool, of.Stream, err)
		}
		v.floors[consumer{of.Stream, pool}] = floor
	}
	return nil
}
