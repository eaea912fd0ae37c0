package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

// executorEnv makes the test binary a process that runs one program as the exec action does, and no tests: the script at a path, with
// the path of a file as its argument.
const executorEnv = "CARILLON_TEST_EXECUTOR"

// executor is what such a process is to run.
type executor struct{ Program, File string }

func execute(text string) {
	var e executor
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		panic(err)
	}
	input, err := json.Marshal(execInput{Command: "p", Args: []string{e.File}})
	if err != nil {
		panic(err)
	}
	action := &execAction{commands: map[string]string{"p": e.Program}}
	_, err = action.handle(context.Background(), sample("exec", string(input)))
	fmt.Println("the program has ended:", err)
	os.Exit(0)
}
