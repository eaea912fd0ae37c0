package backup_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// makeEarlier changes a backup into one that an earlier release would have made: without some streams, whose subjects belong to
// others.
func makeEarlier(t *testing.T, dir string, without []string, subjects map[string][]string) {
	t.Helper()
	path := filepath.Join(dir, "manifest.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var m backup.Manifest
	require.NoError(t, json.Unmarshal(text, &m))
	m.Streams = slices.DeleteFunc(m.Streams, func(s backup.Stream) bool { return slices.Contains(without, s.Name) })
	for i := range m.Streams {
		if s := &m.Streams[i]; subjects[s.Name] != nil {
			var config map[string]any
			require.NoError(t, json.Unmarshal(s.Config, &config))
			config["subjects"] = subjects[s.Name]
			s.Config, err = json.Marshal(config)
			require.NoError(t, err)
		}
	}
	text, err = json.MarshalIndent(m, "", "  ")
	require.NoError(t, err)
	text = append(text, '\n')
	require.NoError(t, os.WriteFile(path, text, 0o600))
	sum := fmt.Sprintf("%x  manifest.json\n", sha256.Sum256(text))
	require.NoError(t, os.WriteFile(path+".sha256", []byte(sum), 0o600))
}

// TestRestoreOfABackupOfAnEarlierRelease: the restore creates the streams that the release lacked, and what it had stored is
// there.
func TestRestoreOfABackupOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	s := connectInstallation(t, natstest.Server(t), natstest.Names(t))
	s.open(topology.Settings{Shards: 1})
	prefix, control := s.names.Prefix(), s.names.Control("default", "q", "w")
	_, err := s.js.Publish(t.Context(), control, []byte("cancel"))
	require.NoError(t, err)
	dir, _ := s.backup()
	later := []string{s.names.ProgressStream(), s.names.WorkerDeadLetterStream()}
	makeEarlier(t, dir, later, map[string][]string{
		s.names.ControlStream():    {prefix + ".control.>", prefix + ".progress.>"},
		s.names.DeadLetterStream(): {prefix + ".dlq.>"},
	})

	other := connectInstallation(t, natstest.Server(t), s.names)
	other.restore(dir, backup.RestoreConfig{})
	stream, err := other.js.Stream(t.Context(), s.names.ControlStream())
	require.NoError(t, err)
	stored, err := stream.GetLastMsgForSubject(t.Context(), control)
	require.NoError(t, err)
	assert.Equal(t, "cancel", string(stored.Data))
	for stream, subject := range map[string]string{
		s.names.ControlStream():          control,
		s.names.ProgressStream():         s.names.Progress("default", "q", "w"),
		s.names.WorkerDeadLetterStream(): s.names.WorkerDeadLetter("default", "q"),
		s.names.DeadLetterStream():       s.names.DeadLetter("invoker"),
	} {
		ack, err := other.js.Publish(t.Context(), subject, []byte("more"))
		require.NoError(t, err)
		assert.Equal(t, stream, ack.Stream)
	}
}
