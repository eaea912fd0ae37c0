package fixedseed

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func seedInForce() uint64 {
	return flag.Lookup(seedFlag).Value.(flag.Getter).Get().(uint64)
}

func TestSeedIsFixed(t *testing.T) {
	t.Parallel()
	if os.Getenv("RAPID_SEED") != "" {
		t.Skip("the environment has chosen a seed")
	}
	require.EqualValues(t, 1, seedInForce())
}

// The environment and the command line can still choose another seed.
func TestSeedCanBeChosen(t *testing.T) {
	t.Parallel()
	for name, cmd := range map[string]*exec.Cmd{
		"environment": exec.Command(os.Args[0], "-test.run", "TestChosenSeed$"),
		"flag":        exec.Command(os.Args[0], "-test.run", "TestChosenSeed$", "-rapid.seed", "42"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd.Env = append(os.Environ(), "FIXEDSEED_WANT=42")
			if name == "environment" {
				cmd.Env = append(cmd.Env, "RAPID_SEED=42")
			}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// TestChosenSeed runs in a process of its own.
func TestChosenSeed(t *testing.T) {
	t.Parallel()
	if os.Getenv("FIXEDSEED_WANT") == "" {
		t.Skip("only TestSeedCanBeChosen runs it")
	}
	require.EqualValues(t, 42, seedInForce())
}
