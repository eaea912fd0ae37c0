package invoker_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// vector is one line of overlap.jsonl; the README beside it says what the fields mean.
type vector struct {
	ID                  string   `json:"id"`
	Running             bool     `json:"running"`
	Policies            []string `json:"policies"`
	Default             string   `json:"default"`
	Start               []int    `json:"start"`
	StartNonOverlapping int      `json:"startNonOverlapping"`
	NewBuffer           []int    `json:"newBuffer"`
	Cancel              bool     `json:"cancel"`
	Terminate           bool     `json:"terminate"`
	Skipped             int      `json:"skipped"`
}

func (v *vector) overlap() invoker.Overlap {
	o := invoker.Overlap{Limit: 1}
	if v.Running {
		o.Running = 1
	}
	for _, p := range v.Policies {
		if p == "unspecified" {
			p = v.Default
		}
		o.Policies = append(o.Policies, schedule.OverlapPolicy(p))
	}
	return o
}

func loadVectors(t *testing.T) []vector {
	t.Helper()
	folder := os.Getenv("CARILLON_VECTORS")
	if folder == "" {
		folder = filepath.Join("..", "specproc", "testdata", "vectors")
	}
	file, err := os.Open(filepath.Join(folder, "overlap.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	var all []vector
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var v vector
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		all = append(all, v)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, all)
	return all
}

func TestOverlapVectors(t *testing.T) {
	t.Parallel()
	vectors := loadVectors(t)
	for _, v := range vectors {
		r := invoker.Resolve(v.overlap())
		chosen := -1
		if len(r.Chosen) > 0 {
			chosen = r.Chosen[0]
		}
		assert.LessOrEqual(t, len(r.Chosen), 1, v.ID)
		assert.Equal(t, v.StartNonOverlapping, chosen, v.ID)
		assert.Equal(t, v.Start, append([]int{}, r.Beside...), v.ID)
		assert.Equal(t, v.NewBuffer, append([]int{}, r.Kept...), v.ID)
		assert.Equal(t, v.Cancel, r.Cancel > 0, v.ID)
		assert.Equal(t, v.Terminate, r.Terminate > 0, v.ID)
		assert.Equal(t, v.Skipped, len(r.Skipped), v.ID)
	}
	t.Logf("%d vectors", len(vectors))
}

func overlaps() *rapid.Generator[invoker.Overlap] {
	return rapid.Custom(func(t *rapid.T) invoker.Overlap {
		return invoker.Overlap{
			Running:  rapid.IntRange(0, 5).Draw(t, "running"),
			Limit:    rapid.IntRange(1, 4).Draw(t, "limit"),
			Policies: rapid.SliceOfN(rapid.SampledFrom(schedule.OverlapPolicies()), 0, 8).Draw(t, "policies"),
		}
	})
}

func TestResolvePlacesEveryStartOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := overlaps().Draw(t, "overlap")
		r := invoker.Resolve(o)
		lists := [][]int{r.Beside, r.Chosen, r.Kept, r.Skipped, r.Replaced, r.Blocked}
		all := slices.Concat(lists...)
		slices.Sort(all)
		want := make([]int, len(o.Policies))
		for i := range want {
			want[i] = i
		}
		require.Equal(t, want, append([]int{}, all...))
		for _, list := range lists {
			require.True(t, slices.IsSorted(list), "buffer order: %v", list)
		}
		require.LessOrEqual(t, len(r.Chosen)+o.Running, max(o.Limit, o.Running))
		// Cancel and Terminate name the same runs where there are not enough of them.
		require.LessOrEqual(t, r.Cancel, o.Running)
		require.LessOrEqual(t, r.Terminate, o.Running)
		if r.Cancel+r.Terminate > 0 {
			require.Empty(t, r.Beside)
			require.NotEmpty(t, r.Kept, "somebody waits for the end of what is ended")
		} else {
			require.Empty(t, r.Blocked)
		}
		for _, i := range append(r.Beside, r.Blocked...) {
			require.Equal(t, schedule.OverlapAllowAll, o.Policies[i])
		}
		// No run slot stays free while somebody waits for one.
		if len(r.Kept)+len(r.Skipped)+len(r.Replaced) > 0 {
			require.GreaterOrEqual(t, len(r.Chosen)+o.Running, o.Limit)
		}
	})
}

// TestResolveWithMoreRoom: with room for all of them, everything starts, whatever its policy.
func TestResolveWithMoreRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := overlaps().Draw(t, "overlap")
		o.Limit = o.Running + len(o.Policies) + 1
		r := invoker.Resolve(o)
		require.Len(t, append(r.Chosen, r.Beside...), len(o.Policies))
	})
}
