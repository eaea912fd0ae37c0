package systemtest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestImage checks the promises of the Dockerfile: nothing but the program, and not as root.
func TestImage(t *testing.T) {
	t.Parallel()
	text := readFile(t, deployDir, "docker/Dockerfile")
	stages := strings.Split(text, "\nFROM ")
	require.Len(t, stages, 3)
	assert.Contains(t, stages[1], "CGO_ENABLED=0")
	assert.Contains(t, stages[2], "distroless/static")
	assert.Contains(t, stages[2], "\nUSER 65532:65532\n")
	assert.Contains(t, stages[2], "\nENTRYPOINT [\"/usr/local/bin/carillon\"]\n")
	assert.NotContains(t, stages[2], "\nRUN ", "there is no shell")
	var major, minor string
	for line := range strings.Lines(readFile(t, "../../go.mod")) {
		if version, ok := strings.CutPrefix(line, "go "); ok {
			major, minor, _ = strings.Cut(strings.TrimSpace(version), ".")
			minor, _, _ = strings.Cut(minor, ".")
		}
	}
	assert.Contains(t, stages[1], "golang:"+major+"."+minor+"-", "the Go of go.mod")
}

// TestRelease: the inputs of the packages exist, and each file of variables is in them.
func TestRelease(t *testing.T) {
	t.Parallel()
	var config struct {
		Packages []struct {
			Contents []struct {
				Source string `yaml:"src"`
				Target string `yaml:"dst"`
				Type   string `yaml:"type"`
			} `yaml:"contents"`
			Scripts map[string]string `yaml:"scripts"`
		} `yaml:"nfpms"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, "../../.goreleaser.yaml")), &config))
	require.Len(t, config.Packages, 1)
	packed := map[string]bool{}
	for _, file := range config.Packages[0].Contents {
		packed[file.Target] = true
		if file.Type != "dir" {
			assert.FileExists(t, "../../"+file.Source)
		}
		if strings.HasPrefix(file.Target, "/etc/") && file.Type != "dir" {
			assert.Equal(t, "config|noreplace", file.Type, file.Target)
		}
	}
	for _, script := range config.Packages[0].Scripts {
		assert.FileExists(t, "../../"+script)
	}
	files, err := os.ReadDir(deployDir + "/systemd/env")
	require.NoError(t, err)
	for _, file := range files {
		assert.True(t, packed["/etc/carillon/"+file.Name()], "%s is in no package", file.Name())
	}
}
