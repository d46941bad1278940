package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// settings contains the names, paths and addresses of a cluster. write inserts these settings into the files in config/.
type settings struct {
	Root         string // the project's root directory
	Name         string
	Node         string
	Data         string // removed whenever the cluster stops, except Registry and Logs
	Run          string // sockets and PID files; the path is short, because socket paths are limited to 107 bytes
	Logs         string
	Registry     string
	HostAddress  string
	NodeAddress  string
	PodRange     string
	NodePodRange string
	ServiceRange string
	APIAddress   string // the first address in ServiceRange
	DNSAddress   string
	RegistryPort int
	APIPort      int
	PauseImage   string
}

// realSettings returns the settings of the cluster with real containers.
func realSettings(root, data string) settings {
	s := commonSettings(root, data)
	s.Run = "/run/echo-cluster"
	s.HostAddress, s.NodeAddress, s.APIPort = "10.200.0.1", "10.200.0.2", 6443
	s.RegistryPort = 5000
	return s
}

// simulatedSettings returns the settings of the cluster with simulated pods.
func simulatedSettings(root, data string) settings {
	s := commonSettings(root, data)
	s.Run = filepath.Join(s.Data, "run")
	s.HostAddress, s.NodeAddress = "127.0.0.1", "127.0.0.1"
	return s
}

func commonSettings(root, data string) settings {
	return settings{
		Root:         root,
		Name:         "echo-cluster",
		Node:         "node1",
		Data:         data,
		Logs:         filepath.Join(data, "logs"),
		Registry:     filepath.Join(data, "registry"),
		PodRange:     "10.244.0.0/16",
		NodePodRange: "10.244.0.0/24",
		ServiceRange: "10.96.0.0/16",
		APIAddress:   "10.96.0.1",
		DNSAddress:   "10.96.0.10",
	}
}

func (s *settings) kubeconfig() string { return filepath.Join(s.Data, "kubeconfig") }

//go:embed config
var configFiles embed.FS

// write writes a file from config/ to a path below Data, with the settings inserted.
func (s *settings) write(name, path string) error {
	parsed, err := template.ParseFS(configFiles, "config/"+name)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, s); err != nil {
		return err
	}
	return writeFile(filepath.Join(s.Data, path), text.Bytes())
}

func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("creating a directory for the files of the cluster: %w", err)
	}
	return os.WriteFile(path, text, 0o600)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
