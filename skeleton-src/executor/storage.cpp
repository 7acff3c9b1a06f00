#include "storage.hpp"

#include "refusal.hpp"

#if !defined(TRAMONTANE_SIMULATED_MPI)

#include <fcntl.h>
#include <mpi.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <vector>

#include "../random.hpp"
#include "words.hpp"

#endif

namespace tramontane::executor {

#if defined(TRAMONTANE_SIMULATED_MPI)

std::unique_ptr<Storage> make_storage(const Schedule&, Rank, const std::string&, Fault) {
    refuse("steps", "write or read with " TRAMONTANE_SIMULATED_MPI, "other steps");
}

#else

namespace {

[[nodiscard]] std::string with_reason(const std::string& text, int error) {
    return text + " (" + std::strerror(error) + ")";
}

/// Ranks that see the same memory, and so the same disks.
[[nodiscard]] MPI_Comm node_communicator(Rank rank) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    return node;
}

/// Refuses on all ranks what the first of those that have a complaint says.
void agree(const std::string& complaint, Rank rank, Rank ranks) {
    int mine = complaint.empty() ? ranks : rank, first = ranks;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == ranks) return;
    constexpr std::size_t longest = 512;
    std::vector<char> text(longest, '\0');
    complaint.copy(text.data(), longest - 1);
    MPI_Bcast(text.data(), longest, MPI_CHAR, first, MPI_COMM_WORLD);
    refuse_key("directory", text.data(), "a folder with room, that can be written");
}

class SharedFile final : public Storage {
public:
    SharedFile(const Schedule& schedule, Rank rank, const std::string& directory, Fault fault)
        : schedule_{schedule}, rank_{rank}, per_repeat_{schedule.rounds() / schedule.repeats()}, fault_{fault} {
        long long mine = 0;
        for (std::int64_t number = 0; number < per_repeat_; ++number) {
            const Round round = schedule.round(rank, number);
            if (round.access == Access::none) continue;
            at_[number] = mine;
            mine += static_cast<long long>(words_of(round.bytes)) * word_bytes;
        }
        open(directory, mine);
        write_input();
    }
    ~SharedFile() override {
        if (file_ >= 0) close(file_);
    }

    void check_as_it_runs(bool wanted) override { checking_ = wanted; }
    void check_result() override {
        for (const auto& [number, words] : last_) check(number, words);
        last_.clear();
    }
    [[nodiscard]] const Findings& findings() const override { return findings_; }

    void prepare(std::int64_t number, std::int64_t repetition) override {
        repetition_ = repetition;
        const Round round = schedule_.round(rank_, number);
        words_.assign(words_of(round.bytes), 0);
        if (round.access == Access::write) fill(words_, number, round.bytes);
    }
    void access(std::int64_t number) override {
        const Round round = schedule_.round(rank_, number);
        const std::int64_t at = place(number);
        if (round.access == Access::write) {
            write_all(words_, at, round.bytes);
        } else {
            read_all(words_, at, round.bytes);
        }
    }
    void release(std::int64_t number) override {
        const Round round = schedule_.round(rank_, number);
        const bool is_last = number + per_repeat_ >= schedule_.rounds();
        if (!checking_ && !is_last) return;
        if (round.access == Access::write) {
            std::fill(words_.begin(), words_.end(), 0);
            read_all(words_, place(number), round.bytes);
        }
        if (checking_) check(number, words_);
        if (is_last) last_[number] = std::move(words_);
    }

private:
    void open(const std::string& directory, long long mine) {
        MPI_Comm node = node_communicator(rank_);
        int local = 0;
        MPI_Comm_rank(node, &local);
        long long before = 0, all = 0;
        MPI_Exscan(&mine, &before, 1, MPI_LONG_LONG, MPI_SUM, node);
        MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, node);
        first_ = local == 0 ? 0 : before;
        constexpr std::size_t longest = 4096;
        std::vector<char> name(longest, '\0');
        std::string complaint;
        if (local == 0) complaint = make(directory, all, name);
        MPI_Bcast(name.data(), longest, MPI_CHAR, 0, node);
        if (local > 0 && name[0] != '\0') {
            file_ = ::open(name.data(), O_RDWR | O_CLOEXEC);
            if (file_ < 0) complaint = with_reason(std::string("no way to open ") + name.data(), errno);
        }
        MPI_Barrier(node);
        if (local == 0 && name[0] != '\0') unlink(name.data());
        MPI_Comm_free(&node);
        agree(complaint, rank_, schedule_.ranks());
    }
    /// Makes the file, with room for all; its name is empty if that fails. \return a complaint, or nothing
    [[nodiscard]] std::string make(const std::string& directory, long long bytes, std::vector<char>& name) {
        const char* const usual = std::getenv("TMPDIR");
        const std::string folder = !directory.empty() ? directory : usual != nullptr && *usual != '\0' ? usual : "/tmp";
        const std::string path = folder + "/tramontane-XXXXXX";
        if (path.size() >= name.size()) return "a name of " + std::to_string(folder.size()) + " characters";
        struct statvfs room{};
        if (statvfs(folder.c_str(), &room) != 0) return with_reason("'" + folder + "'", errno);
        const auto free = static_cast<long double>(room.f_bavail) * static_cast<long double>(room.f_frsize);
        if (static_cast<long double>(bytes) > free) {
            return "'" + folder + "' without room for " + std::to_string(bytes) + " B";
        }
        path.copy(name.data(), path.size());
        file_ = mkostemp(name.data(), O_CLOEXEC);
        const int failed = file_ < 0 ? errno : bytes > 0 ? posix_fallocate(file_, 0, bytes) : 0;
        if (failed == 0) return "";
        if (file_ >= 0) unlink(name.data());
        std::fill(name.begin(), name.end(), '\0');
        return with_reason("'" + folder + "' without room for " + std::to_string(bytes) + " B", failed);
    }

    /// What reads are to find.
    void write_input() {
        for (const auto& [number, at] : at_) {
            const Round round = schedule_.round(rank_, number);
            if (round.access != Access::read) continue;
            std::vector<std::uint64_t> words(words_of(round.bytes));
            fill(words, number, round.bytes);
            write_all(words, first_ + at, round.bytes);
        }
    }
    [[nodiscard]] std::int64_t place(std::int64_t number) const { return first_ + at_.at(number % per_repeat_); }

    /// A written word says who wrote it and when; one that is read, where it is.
    [[nodiscard]] std::uint64_t stamp(std::int64_t number) const {
        const bool reads = schedule_.round(rank_, number).access == Access::read;
        const auto when = static_cast<std::uint64_t>(reads ? number % per_repeat_ : number);
        const auto repetition = static_cast<std::uint64_t>(reads ? 0 : repetition_ + 1);
        return random_bits(static_cast<std::uint64_t>(rank_), when, repetition);
    }
    void fill(std::vector<std::uint64_t>& words, std::int64_t number, std::int64_t bytes) const {
        const std::uint64_t of = stamp(number);
        for (std::size_t at = 0; at < words.size(); ++at) words[at] = word(of, at, bytes);
    }

    void check(std::int64_t number, const std::vector<std::uint64_t>& found) {
        std::vector<std::uint64_t> words = found;
        if (fault_ == Fault::value && !words.empty()) words.front() ^= 1;
        if (fault_ == Fault::place && words.size() > 1) std::swap(words.front(), words.back());
        if (fault_ == Fault::missing) std::fill(words.begin(), words.end(), 0);
        const Round round = schedule_.round(rank_, number);
        const std::uint64_t of = stamp(number);
        for (std::size_t at = 0; at < words.size(); ++at) {
            ++findings_.checked;
            if (words[at] == word(of, at, round.bytes)) continue;
            ++findings_.wrong;
            if (!findings_.first.empty()) continue;
            findings_.first = "round " + std::to_string(number) + ", " + std::to_string(round.bytes) + " B of rank " +
                              std::to_string(rank_) + " in storage: word " + std::to_string(at) +
                              " is not what was written";
        }
    }

    void write_all(const std::vector<std::uint64_t>& words, std::int64_t at, std::int64_t bytes) const {
        const char* const data = reinterpret_cast<const char*>(words.data());
        for (std::int64_t done = 0; done < bytes;) {
            const ssize_t moved = pwrite(file_, data + done, static_cast<std::size_t>(bytes - done), at + done);
            if (moved < 0 && errno == EINTR) continue;
            if (moved <= 0) throw std::runtime_error(with_reason("storage: a write failed", errno));
            done += moved;
        }
    }
    void read_all(std::vector<std::uint64_t>& words, std::int64_t at, std::int64_t bytes) const {
        char* const data = reinterpret_cast<char*>(words.data());
        for (std::int64_t done = 0; done < bytes;) {
            const ssize_t moved = pread(file_, data + done, static_cast<std::size_t>(bytes - done), at + done);
            if (moved < 0 && errno == EINTR) continue;
            if (moved <= 0) throw std::runtime_error(with_reason("storage: a read failed", errno));
            done += moved;
        }
    }

    const Schedule& schedule_;
    Rank rank_;
    std::int64_t per_repeat_;
    Fault fault_;
    int file_ = -1;
    std::int64_t first_ = 0;                                   ///< of this rank's bytes in the file
    std::map<std::int64_t, std::int64_t> at_;                  ///< of these, by round of a repeat
    std::vector<std::uint64_t> words_;                         ///< of the access that goes on
    std::map<std::int64_t, std::vector<std::uint64_t>> last_;  ///< what the accesses of the last repeat found
    std::int64_t repetition_ = 0;
    bool checking_ = false;
    Findings findings_;
};

}  // namespace

std::unique_ptr<Storage> make_storage(const Schedule& schedule, Rank rank, const std::string& directory, Fault fault) {
    return std::make_unique<SharedFile>(schedule, rank, directory, fault);
}

#endif

}  // namespace tramontane::executor
