// Command temporal is a worker written with Temporal's SDK for Go. It knows nothing of Carillon but the address: see the README beside it. The
// program imports nothing of Carillon.
package main

import (
	"fmt"
	"os"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "temporal:", err)
		os.Exit(1)
	}
}

// run serves the task queue greetings until it is interrupted. TEMPORAL_ADDRESS is where Temporal's clients look for the service; without
// it, that is localhost:7233.
func run() error {
	c, err := client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS")})
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, "greetings", worker.Options{})
	register(w)
	return w.Run(worker.InterruptCh())
}
