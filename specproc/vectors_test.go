package specproc

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/speccases"
	"github.com/carillon-scheduler/carillon/schedule"
)

// vector is one line of the files in testdata/vectors. The README.md there describes the fields.
type vector struct {
	ID         string      `json:"id"`
	Why        string      `json:"why"`
	Spec       vectorSpec  `json:"spec"`
	JitterSeed string      `json:"jitterSeed"`
	After      time.Time   `json:"after"`
	Next       []vectorRun `json:"next"`
	Exhausted  bool        `json:"exhausted"`
	Error      bool        `json:"error"`
	Quirk      bool        `json:"quirk"`
	QuirkWhy   string      `json:"quirkWhy"`
	BruteForce []time.Time `json:"bruteForce"`
}

type vectorRun struct {
	Nominal time.Time `json:"nominal"`
	Actual  time.Time `json:"actual"`
}

// vectorSpec is a spec in the neutral form.
type vectorSpec struct{ schedule.Spec }

func (v *vectorSpec) UnmarshalJSON(data []byte) (err error) {
	v.Spec, err = speccases.ParseSpec(data)
	return err
}

// vectorFolder is testdata/vectors, or the folder that CARILLON_VECTORS names.
func vectorFolder() string {
	if folder := os.Getenv("CARILLON_VECTORS"); folder != "" {
		return folder
	}
	return filepath.Join("testdata", "vectors")
}

func loadVectors(t *testing.T, name string) []vector {
	t.Helper()
	file, err := os.Open(filepath.Join(vectorFolder(), name+".jsonl"))
	require.NoError(t, err)
	defer file.Close()
	var all []vector
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		all = append(all, v)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, all)
	return all
}

// vectorFiles are the files about times. Package invoker reads overlap.jsonl.
var vectorFiles = []string{"calendar", "interval", "cron", "dst", "exclude", "jitter", "bounds", "errors"}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, name := range vectorFiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			times, rejected, bruteForce, decided := 0, 0, 0, 0
			for _, v := range loadVectors(t, name) {
				check := checkTimes
				switch {
				case v.Quirk && v.BruteForce != nil:
					bruteForce++
					check = checkBruteForce
				case v.Quirk:
					decided++
					check = checkDecision
				case v.Error:
					rejected++
					check = checkRejected
				default:
					times++
				}
				t.Run(v.ID, func(t *testing.T) { check(t, v) })
			}
			t.Logf("%s: %d with times, %d rejected; quirks: %d by brute force, %d decided by Carillon",
				name, times, rejected, bruteForce, decided)
		})
	}
}

func checkTimes(t *testing.T, v vector) {
	s, err := Compile(v.Spec.Spec)
	require.NoError(t, err, v.Why)
	after := v.After
	for i, want := range v.Next {
		got, ok := s.Next(after, v.JitterSeed)
		require.True(t, ok, "%s: time %d", v.Why, i)
		require.Equal(t, Time(want), got, "%s: time %d", v.Why, i)
		after = got.Actual
	}
	if v.Exhausted {
		got, ok := s.Next(after, v.JitterSeed)
		require.False(t, ok, "%s: found %v", v.Why, got)
	}
}

// checkBruteForce walks by nominal time: there the reference is wrong, and the brute force result is nominal.
func checkBruteForce(t *testing.T, v vector) {
	s, err := Compile(v.Spec.Spec)
	require.NoError(t, err, v.Why)
	after := v.After
	for i, want := range v.BruteForce {
		got, ok := s.Next(after, v.JitterSeed)
		require.True(t, ok, "%s: time %d", v.Why, i)
		require.Equal(t, want, got.Nominal, "%s: time %d", v.Why, i)
		after = got.Actual
	}
}

func checkRejected(t *testing.T, v vector) {
	_, err := Compile(v.Spec.Spec)
	require.Error(t, err, v.Why)
	var e *schedule.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, schedule.CodeInvalidArgument, e.Code)
	require.NotEmpty(t, e.Field, e.Message)
}

// decisions are what Carillon does with input that the reference accepts or rejects by accident. True means accepted, with the
// same times if the vector has any and instead has none.
var decisions = map[string]bool{
	"cal-0109":   false, // a leading +
	"cal-0110":   false, // a step that overflows
	"int-0029":   false, // a fraction of a second in a phase
	"cron-0047":  false, // @every 6h/
	"cron-0049":  false, // @everything
	"cron-0062":  true,  // 1#2: see instead
	"cron-r0082": false, // Mo#x: a # right after a weekday is no comment
	"cron-r0223": false, // 6-6#x
	"cron-0067":  true,  // a known zone in front of @every
	"err-0106":   false, // a long comment after @every
	"err-0118":   false, // a fraction of a second in a phase
	"err-0146":   true,  // two blanks after @every
	"err-0166":   true,  // a tab after the zone
	"err-0173":   true,  // @every beside an expression with a zone
}

// instead has the first nominal times of input to which Carillon gives another meaning than the reference does.
var instead = map[string][]time.Time{
	"cron-0062": { // the second Monday
		time.Date(2024, 7, 8, 9, 30, 0, 0, time.UTC), time.Date(2024, 8, 12, 9, 30, 0, 0, time.UTC),
		time.Date(2024, 9, 9, 9, 30, 0, 0, time.UTC), time.Date(2024, 10, 14, 9, 30, 0, 0, time.UTC),
	},
}

func checkDecision(t *testing.T, v vector) {
	accepted, known := decisions[v.ID]
	require.True(t, known, "not decided: %s", v.QuirkWhy)
	other, differs := instead[v.ID]
	switch {
	case !accepted:
		checkRejected(t, v)
	case differs:
		v.BruteForce = other
		checkBruteForce(t, v)
	default:
		checkTimes(t, v)
	}
}

// TestEveryDecisionIsChecked finds entries without a vector.
func TestEveryDecisionIsChecked(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	for _, name := range vectorFiles {
		for _, v := range loadVectors(t, name) {
			asked[v.ID] = v.Quirk && v.BruteForce == nil
		}
	}
	for id := range decisions {
		require.True(t, asked[id], id)
	}
}
