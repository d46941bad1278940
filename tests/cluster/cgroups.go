package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// All processes of the cluster, including processes in containers, are in cgroups below a cgroup with the cluster's name. Therefore, the
// processes can be found even after a crash.

// services is the cgroup of the processes that do not run in containers.
const services = "services"

// hierarchies returns the mount points of the cgroup hierarchies: a single one in version 2, and one per controller in version 1.
func hierarchies() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var mounts []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		kind := slices.Index(fields, "-") + 1
		if kind < len(fields) && (fields[kind] == "cgroup" || fields[kind] == "cgroup2") {
			mounts = append(mounts, fields[4])
		}
	}
	if len(mounts) == 0 {
		return nil, errors.New("no cgroups are mounted")
	}
	return mounts, nil
}

// createGroups creates the cluster's cgroups, and returns a command prefix that runs a program in the services cgroup.
func (s *settings) createGroups() ([]string, error) {
	mounts, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var join strings.Builder
	for _, mount := range mounts {
		group := filepath.Join(mount, s.Name)
		if err := os.MkdirAll(filepath.Join(group, services), 0o755); err != nil {
			return nil, err
		}
		if err := inheritCPUs(mount, group, filepath.Join(group, services)); err != nil {
			return nil, err
		}
		if err := prioritize(group); err != nil {
			return nil, err
		}
		join.WriteString("echo $$ > " + filepath.Join(group, services, "cgroup.procs") + "; ")
	}
	return []string{"sh", "-ec", join.String() + `exec "$@"`, "sh"}, nil
}

// prioritize gives a cgroup ten times the CPU time that Linux gives to each other session while the CPUs are busy (sched(7), autogroup),
// because a cluster usually has machines of its own. Without priority, it misses leases and probes while other programs run. Niceness
// would have no effect, because it matters only within a cgroup.
func prioritize(group string) error {
	for file, weight := range map[string]string{"cpu.shares": "10240", "cpu.weight": "1000"} { // versions 1 and 2
		if path := filepath.Join(group, file); exists(path) {
			if err := os.WriteFile(path, []byte(weight), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// inheritCPUs copies the parent cgroup's CPUs and memory nodes to new cgroups. In version 1, these values are empty in a new cgroup.
func inheritCPUs(parent string, groups ...string) error {
	for _, group := range groups {
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			text, err := os.ReadFile(filepath.Join(parent, file))
			if errors.Is(err, fs.ErrNotExist) || len(strings.TrimSpace(string(text))) == 0 {
				continue
			}
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(group, file), text, 0o644); err != nil {
				return err
			}
		}
		parent = group
	}
	return nil
}

// groups returns all of the cluster's cgroups, with child cgroups before their parents.
func (s *settings) groups() ([]string, error) {
	mounts, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, mount := range mounts {
		err := filepath.WalkDir(filepath.Join(mount, s.Name), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				found = append(found, path)
			}
			return nil // a cgroup may have been deleted in the meantime
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found, nil
}

// membersOf returns the IDs of the processes in cgroups.
func membersOf(groups []string) []int {
	var pids []int
	for _, group := range groups {
		text, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// killMembers kills all processes of the cluster. It repeats this until there are none, because processes can start others in the meantime.
func (s *settings) killMembers(ctx context.Context) error {
	return await(ctx, func(context.Context) error {
		groups, err := s.groups()
		if err != nil {
			return final{err}
		}
		pids := membersOf(groups)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have exited already
		}
		if len(pids) > 0 {
			return fmt.Errorf("processes %v still run", pids)
		}
		return nil
	})
}

// removeGroups removes the cluster's cgroups. The cgroups must not contain any processes.
func (s *settings) removeGroups(ctx context.Context) error {
	return await(ctx, func(context.Context) error {
		groups, err := s.groups()
		if err != nil {
			return final{err}
		}
		for _, group := range groups {
			if err := syscall.Rmdir(group); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing %s: %w", group, err) // exited processes may still be in the cgroup for a moment
			}
		}
		return nil
	})
}
