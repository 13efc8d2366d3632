# Sourced by the scripts beside it: messages, and the name of this machine's package manager.

say() { printf '%s\n' "headroom: $*" >&2; }

# fail CAUSE CURE: end with both.
fail() {
    printf '%s\n' "headroom: $1" "  hint: $2" >&2
    exit 1
}

package_manager() {
    for manager in apt-get dnf apk pacman zypper brew; do
        if command -v "$manager" >/dev/null 2>&1; then
            printf '%s\n' "$manager"
            return
        fi
    done
    printf 'none\n'
}

# install_line APT DNF APK PACMAN ZYPPER BREW: how to install, on this machine, what each
# package manager calls differently.
install_line() {
    case "$(package_manager)" in
        apt-get) printf 'sudo apt-get install %s' "$1" ;;
        dnf) printf 'sudo dnf install %s' "$2" ;;
        apk) printf 'doas apk add %s' "$3" ;;
        pacman) printf 'sudo pacman -S %s' "$4" ;;
        zypper) printf 'sudo zypper install %s' "$5" ;;
        brew) printf 'brew install %s' "$6" ;;
        *) printf 'install %s with the package manager of this machine' "$1" ;;
    esac
}
