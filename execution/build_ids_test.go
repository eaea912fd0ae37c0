package execution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// TestBuildIDs: each build ID is there once, the newest last, and the oldest of too many go.
func TestBuildIDs(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range maxResetPoints + 2 {
		many = append(many, fmt.Sprint(i))
	}
	for _, c := range []struct {
		before string
		ids    []string
		want   string
	}{
		{"", []string{""}, ""},
		{"", []string{"a", "", "b", "a"}, `["unversioned","unversioned:a","unversioned:b"]`},
		{`["unversioned","unversioned:a"]`, []string{"a", "b"}, `["unversioned","unversioned:a","unversioned:b"]`},
		{`"of a client"`, []string{"a"}, `"of a client"`},
		{`{`, []string{"a"}, `{`},
		{"", many, `["unversioned","unversioned:` + strings.Join(many[2:], `","unversioned:`) + `"]`},
	} {
		other := &commonpb.Payload{Data: []byte("1")}
		fields := map[string]*commonpb.Payload{"Other": other}
		if c.before != "" {
			fields[buildIDs] = &commonpb.Payload{Data: []byte(c.before)}
		}
		for _, id := range c.ids {
			was, before := fields[buildIDs], len(fields)
			completed := &historypb.WorkflowTaskCompletedEventAttributes{
				WorkerVersion: &commonpb.WorkerVersionStamp{BuildId: id}, //lint:ignore SA1019 workers still send it
			}
			after, changed := WithBuildID(fields, completed)
			require.Same(t, other, after["Other"])
			require.Len(t, fields, before, "what was there is not changed")
			require.Equal(t, changed, after[buildIDs] != was)
			fields = after
		}
		require.Equal(t, c.want, string(fields[buildIDs].GetData()), "%s %v", c.before, c.ids)
	}
}
