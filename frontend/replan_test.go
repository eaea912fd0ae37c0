package frontend_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// replanned waits until all schedules use the newest version of a calendar.
func (in *installation) replanned(name string) (replan schedule.Replan) {
	in.t.Helper()
	natstest.Eventually(in.t, 3*patience, "all schedules go by the newest version", func() bool {
		described := in.calendar("describe", fmt.Sprintf(`{"name":%q}`, name))
		require.NotNil(in.t, described.Info.Replan)
		replan = *described.Info.Replan
		return replan.Done
	})
	return replan
}

// day is the calendar entry of a day of December 2030.
func day(n int) string { return fmt.Sprintf(`"2030-12-%02d"`, n) }

func TestChangeOfACalendarReachesItsSchedules(t *testing.T) {
	t.Parallel()
	in := installed(t, hasty)
	in.run(hasty) // any frontend may do it
	users := 200
	if testing.Short() {
		users = 40
	}
	in.calendar("create", `{"name":"germany","dates":["2030-12-25"]}`)
	in.calendar("create", `{"name":"freeze","dates":["2030-12-01"]}`)
	var creating sync.WaitGroup
	for worker := range 8 {
		creating.Go(func() {
			for i := worker; i < users; i += 8 {
				_, err := answer[schedule.Description](in, "create", dailyBody(fmt.Sprintf("user-%03d", i), "germany", "freeze"))
				assert.NoError(t, err)
			}
		})
	}
	creating.Wait()
	other := in.create("other", "")
	_, err := answer[schedule.Empty](in, "pause", `{"id":"user-007","note":"why not"}`)
	require.NoError(t, err)
	before := in.definition("user-007")

	in.calendar("update", `{"name":"germany","dates":["2030-12-24"]}`)
	replan := in.replanned("germany")
	assert.Equal(t, users, replan.Replanned)
	assert.Zero(t, replan.Failed)
	assert.True(t, replan.EndTime.After(replan.StartTime))
	for i := range users {
		id := fmt.Sprintf("user-%03d", i)
		def := in.definition(id)
		require.EqualValues(t, 2, def.Calendars["germany"].Version)
		require.EqualValues(t, 1, def.Calendars["freeze"].Version)
		require.Equal(t, def.Version, def.CalendarsVersion)
		require.NotNil(t, in.wake(id, in.generateWake(id, def.Version)), "the generator is woken")
	}
	after := in.definition("user-007")
	assert.Equal(t, before.Version+1, after.Version)
	assert.False(t, after.ReplanTime.IsZero())
	assert.Equal(t, before.UpdateTime, after.UpdateTime, "what is due and not in the buffer yet is not to be dropped")
	assert.Equal(t, before.Schedule, after.Schedule)
	assert.Equal(t, before.LimitVersion, after.LimitVersion)
	days := in.noons("user-007", time.December)
	assert.NotContains(t, days, 1)
	assert.NotContains(t, days, 24)
	assert.Contains(t, days, 25)
	count, event := in.events("user-007", schedule.EventReplanned)
	assert.EqualValues(t, 1, count)
	assert.Equal(t, "calendar germany", event.Reason)
	assert.Equal(t, other.ConflictToken, in.definition("other").Version, "it uses no calendar")
}

// A frontend that dies in the middle leaves the rest to another one, or to itself after a restart.
func TestReplanningOutlivesItsFrontend(t *testing.T) {
	t.Parallel()
	in := install(t)
	stop := in.run(hasty)
	const users = 60
	in.calendar("create", `{"name":"germany"}`)
	for i := range users {
		_, err := answer[schedule.Description](in, "create", dailyBody(fmt.Sprintf("user-%03d", i), "germany"))
		require.NoError(t, err)
	}
	stop()

	// From the middle on, nothing that this frontend publishes is stored.
	var stored atomic.Int32
	middle := make(chan struct{})
	var reached sync.Once
	dying := hook(func(context.Context, *nats.Msg) error {
		if stored.Add(1) < users {
			return nil
		}
		reached.Do(func() { close(middle) })
		return nats.ErrConnectionClosed
	})
	stop = in.run(hasty, dying)
	in.calendar("update", `{"name":"germany","dates":["2030-12-24"]}`)
	select {
	case <-middle:
	case <-time.After(patience):
		t.Fatal("nothing is stored")
	}
	stop()
	behind := 0
	for i := range users {
		if in.definition(fmt.Sprintf("user-%03d", i)).Calendars["germany"].Version == 1 {
			behind++
		}
	}
	require.NotZero(t, behind)
	require.Less(t, behind, users)

	in.run(hasty)
	in.replanned("germany")
	for i := range users {
		require.EqualValues(t, 2, in.definition(fmt.Sprintf("user-%03d", i)).Calendars["germany"].Version)
	}
}

// A create reads the calendar before it changes, and is written after all schedules have been looked through. The last look finds
// it. The guard of the create is the message that the frontend stores between the two.
func TestCreateDuringAChangeOfItsCalendar(t *testing.T) {
	t.Parallel()
	in := install(t)
	late := in.key("late")
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	in.run(hasty, hook(func(ctx context.Context, message *nats.Msg) error {
		if message.Subject == in.guard(late.ID, 1) {
			once.Do(func() { close(held) })
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return nil
	}))
	in.calendar("create", `{"name":"germany"}`)
	_, err := answer[schedule.Description](in, "create", dailyBody("early", "germany"))
	require.NoError(t, err)
	created := make(chan error, 1)
	go func() {
		_, err := answer[schedule.Description](in, "create", dailyBody(late.ID, "germany"))
		created <- err
	}()
	<-held
	in.calendar("update", `{"name":"germany","dates":["2030-12-24"]}`)
	natstest.Eventually(t, patience, "the first job is done", func() bool {
		return in.definition("early").Calendars["germany"].Version == 2
	})
	close(release)
	require.NoError(t, <-created)
	in.replanned("germany")
	assert.EqualValues(t, 2, in.definition(late.ID).Calendars["germany"].Version)
}

// A frontend that dies right after writing a calendar has arranged for the rest beforehand.
func TestUpdateOfACalendarWithoutItsFirstJob(t *testing.T) {
	t.Parallel()
	in := installed(t, hasty)
	in.calendar("create", `{"name":"germany"}`)
	_, err := answer[schedule.Description](in, "create", dailyBody("daily", "germany"))
	require.NoError(t, err)
	in.replanned("germany")
	c := in.calendar("update", `{"name":"germany","dates":["2030-12-24"]}`)
	require.NotNil(t, c.Info.Replan)
	require.NoError(t, in.removeJobs(false))
	in.replanned("germany")
	assert.EqualValues(t, 2, in.definition("daily").Calendars["germany"].Version)
}

// Whatever happens, and in whatever order, all schedules use the newest calendars in the end.
func TestSchedulesEndWithTheNewestCalendars(t *testing.T) {
	t.Parallel()
	in := installed(t, hasty)
	in.run(hasty)
	calendars := []string{"a", "b"}
	for _, name := range calendars {
		in.calendar("create", fmt.Sprintf(`{"name":%q}`, name))
	}
	var acting sync.WaitGroup
	for actor := range 6 {
		random := rand.New(rand.NewPCG(1, uint64(actor)))
		acting.Go(func() {
			for range 25 {
				in.act(random, calendars)
			}
		})
	}
	acting.Wait()
	newest := map[string]uint64{}
	for _, name := range calendars {
		in.replanned(name)
		newest[name] = in.calendar("describe", fmt.Sprintf(`{"name":%q}`, name)).ConflictToken
	}
	keys, err := kv.Schedules(t.Context(), in.store, "default")
	require.NoError(t, err)
	require.NotEmpty(t, keys)
	for _, key := range keys {
		def := in.definition(key.ID)
		require.Len(t, def.Calendars, len(def.Schedule.Spec.ExcludeCalendarsNamed), key.ID)
		for name, c := range def.Calendars {
			assert.Equal(t, newest[name], c.Version, "%s of %s", name, key.ID)
		}
	}
}

// act makes one of the requests that may overlap. It may be refused.
func (in *installation) act(random *rand.Rand, calendars []string) {
	id := fmt.Sprintf("s-%d", random.IntN(12))
	switch random.IntN(10) {
	case 0, 1, 2, 3:
		_, _ = answer[schedule.Description](in, "create", dailyBody(id, calendars[random.IntN(2):]...))
	case 4, 5:
		_, _ = answer[schedule.Description](in, "update", dailyBody(id, calendars[:random.IntN(3)]...))
	case 6:
		_, _ = answer[schedule.Empty](in, "delete", fmt.Sprintf(`{"id":%q}`, id))
	case 7:
		_, _ = answer[schedule.Empty](in, "pause", fmt.Sprintf(`{"id":%q}`, id))
	default:
		_, _ = aboutCalendar[schedule.CalendarDescription](in, "update",
			fmt.Sprintf(`{"name":%q,"dates":[%s]}`, calendars[random.IntN(2)], day(1+random.IntN(31))))
	}
}

// removeJobs removes the first jobs of all calendar changes, or the last ones, whatever their state.
func (in *installation) removeJobs(last bool) error {
	bucket, err := in.js.KeyValue(in.t.Context(), in.names.ClusterBucket())
	if err != nil {
		return err
	}
	keys, err := bucket.ListKeysFiltered(in.t.Context(), "job.default.*")
	if err != nil {
		return err
	}
	for key := range keys.Keys() {
		if strings.HasSuffix(key, "-last") == last {
			err = errors.Join(err, bucket.Purge(in.t.Context(), key))
		}
	}
	return err
}
