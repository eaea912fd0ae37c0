//go:build linux

package powerloss_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/systemtest/powerloss"
)

func TestAFullDiskTakesNothing(t *testing.T) {
	disk := powerloss.New(t)
	file, err := os.Create(filepath.Join(disk.Dir, "file"))
	require.NoError(t, err)
	_, err = file.WriteString("one")
	require.NoError(t, err)

	disk.Fill()
	_, err = file.WriteString("two")
	require.ErrorIs(t, err, syscall.ENOSPC)
	_, err = os.Create(filepath.Join(disk.Dir, "other"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, os.Mkdir(filepath.Join(disk.Dir, "dir"), 0o700), syscall.ENOSPC)

	disk.Free()
	_, err = file.WriteString("three")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	data, err := os.ReadFile(filepath.Join(disk.Dir, "file"))
	require.NoError(t, err)
	require.Equal(t, "onethree", string(data))
}
