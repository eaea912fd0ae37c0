package specproc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// FuzzNext reads a spec from YAML and walks along its times: each is after the one before, and the oracle agrees about it.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{
		"cron: ['*/5 9 L,15W * fri#2']\ntimeZone: Europe/Berlin\n",
		"calendars: [{hour: 2, minute: 30, dayOfWeek: friL}]\ndst: {gap: shift, repeat: last}\ntimeZone: America/Havana\n",
		"intervals: [{every: 61s, phase: 7s}]\nexcludeDates: [2026-03-01/2026-04-01, 2026-12-25]\n",
		"cron: ['@every 1d12h']\nblackouts: [{from: 2026-03-01T00:00:00Z, to: 2026-03-02T00:00:00.5Z}]\njitter: 90m\n",
		"cron: ['0 0 30 2 *']\nexcludeCalendars: [{second: '*', minute: '*', hour: '*'}]\n",
	} {
		f.Add([]byte(seed), int64(1_772_000_000))
	}
	f.Fuzz(func(t *testing.T, text []byte, after int64) {
		var spec schedule.Spec
		if len(text) > 2000 || apitext.DecodeYAML(text, &spec) != nil {
			return
		}
		s, err := Compile(spec)
		if valid := spec.Validate(); (valid == nil) != (err == nil) {
			t.Fatalf("Compile says %v, Validate %v", err, valid)
		}
		if err != nil {
			require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
			return
		}
		o := oracleOf(t, spec)
		for at, n := time.Unix(after%(1<<33), 0).UTC(), 0; n < 20; n++ {
			next, ok := s.Next(at, "seed")
			if !ok {
				return
			}
			require.True(t, next.Nominal.After(at))
			require.False(t, next.Actual.Before(next.Nominal))
			require.True(t, o.due(next.Nominal), "%s", next.Nominal)
			at = next.Nominal
		}
	})
}

// oracleOf returns the oracle of a spec of any form.
func oracleOf(t *testing.T, spec schedule.Spec) *oracle {
	loc, err := spec.Location()
	require.NoError(t, err)
	for _, text := range spec.Cron {
		cron, err := schedule.ParseCron(text)
		require.NoError(t, err)
		spec.StructuredCalendars = append(spec.StructuredCalendars, cron.Calendars...)
		if cron.Interval != nil {
			spec.Intervals = append(spec.Intervals, *cron.Interval)
		}
	}
	read := func(texts []schedule.Calendar, into *[]schedule.StructuredCalendar) {
		for _, text := range texts {
			c, err := text.Structured()
			require.NoError(t, err)
			*into = append(*into, c)
		}
	}
	read(spec.Calendars, &spec.StructuredCalendars)
	read(spec.ExcludeCalendars, &spec.ExcludeStructuredCalendars)
	return &oracle{spec: spec, loc: loc}
}
