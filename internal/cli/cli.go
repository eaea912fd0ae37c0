package cli

import (
	"context"
	"io"
	"time"

	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

// Env is what a command takes from the process it runs in. All fields are required.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Color says that Stdout is a terminal that may be coloured.
	Color bool
	// Width returns how many columns the terminal has that Stdout is; 0 if it is none.
	Width func() int
	// LookupEnv is like os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// ReadFile is like os.ReadFile.
	ReadFile func(path string) ([]byte, error)
	// Now is the clock.
	Now func() time.Time
	// Zone is the zone that times are shown in where the schedule does not give one.
	Zone *time.Location
	// UseZones is like zonedata.Use.
	UseZones func(*zonedata.Data)
}

// Main runs one command line, without the name of the program, and returns the exit code. It ends soon after ctx does.
func Main(ctx context.Context, env Env, args []string) int {
	a := &app{env: env}
	root := a.rootCommand()
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would take the arguments of the process
	return report(env.Stderr, root.ExecuteContext(ctx))
}

// app is one run of the program.
type app struct {
	env    Env
	global globalOptions
}
