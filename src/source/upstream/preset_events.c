/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preset_events.c - the table of events of known services. */
#include "source/upstream/preset_events.h"

#define TEXT(literal) CW_STR_INIT(literal)
#define PAIR(name_text, pointer_text)                                                              \
    {                                                                                              \
        .name = TEXT(name_text), .value = TEXT(pointer_text)                                       \
    }

static const cw_config_pair gid[] = {PAIR("gid", "/gid")};
static const cw_config_pair player[] = {PAIR("playerid", "/player/playerid"),
                                        PAIR("type", "/item/type")};
static const cw_config_pair item[] = {PAIR("type", "/item/type")};
static const cw_config_pair device[] = {PAIR("device", "/device"), PAIR("id", "/id")};
static const cw_config_pair table[] = {PAIR("table", "/table")};

#define ANY_OBJECT "{\"type\":\"object\"}"

/* ---- aria2 ---- */

#define GID_SCHEMA                                                                                 \
    "{\"type\":\"object\",\"properties\":{\"gid\":{\"type\":\"string\"}},\"required\":[\"gid\"]}"
#define ARIA2(event, text)                                                                         \
    {                                                                                              \
        .name = TEXT(event), .method = TEXT("aria2." event), .description = TEXT(text),            \
        .data = TEXT("/params/0"), .schema = TEXT(GID_SCHEMA), .arguments = {                      \
            gid,                                                                                   \
            CW_COUNT(gid)                                                                          \
        }                                                                                          \
    }

static const cw_config_event aria2[] = {
    ARIA2("onDownloadStart", "A download has started"),
    ARIA2("onDownloadPause", "A download was paused"),
    ARIA2("onDownloadStop", "A download was stopped by a user"),
    ARIA2("onDownloadComplete", "A download is complete; of a torrent, after seeding"),
    ARIA2("onDownloadError", "A download has ended with an error"),
    ARIA2("onBtDownloadComplete", "A torrent is downloaded, and is being seeded"),
};

/* ---- Kodi: JSONRPC.Introspect describes them under "notifications" ---- */

#define KODI(event, text, filters)                                                                 \
    {                                                                                              \
        .name = TEXT(event), .description = TEXT(text), .data = TEXT("/params/data"),              \
        .arguments = {                                                                             \
            filters,                                                                               \
            CW_COUNT(filters)                                                                      \
        }                                                                                          \
    }

static const cw_config_event kodi[] = {
    KODI("Player.OnPlay", "Playback has started or was resumed", player),
    KODI("Player.OnAVStart", "The first frame is shown", player),
    KODI("Player.OnPause", "Playback was paused", player),
    KODI("Player.OnResume", "Playback goes on", player),
    KODI("Player.OnStop", "Playback was stopped", item),
    KODI("Player.OnSeek", "The position of playback has changed", player),
    KODI("Player.OnSpeedChanged", "The speed of playback has changed", player),
    KODI("Player.OnPropertyChanged", "A property of playback has changed", player),
    KODI("Playlist.OnAdd", "An item was added to a playlist", item),
    KODI("Playlist.OnClear", "A playlist was cleared", item),
    KODI("Playlist.OnRemove", "An item was removed from a playlist", item),
    KODI("VideoLibrary.OnUpdate", "A video item was updated", item),
    KODI("VideoLibrary.OnRemove", "A video item was removed", item),
    KODI("VideoLibrary.OnScanStarted", "A scan of the video library has started", item),
    KODI("VideoLibrary.OnScanFinished", "A scan of the video library has ended", item),
    KODI("VideoLibrary.OnCleanFinished", "The video library was cleaned", item),
    KODI("AudioLibrary.OnUpdate", "An audio item was updated", item),
    KODI("AudioLibrary.OnRemove", "An audio item was removed", item),
    KODI("AudioLibrary.OnScanFinished", "A scan of the audio library has ended", item),
    KODI("Application.OnVolumeChanged", "The volume has changed", item),
    KODI("System.OnQuit", "Kodi is being closed", item),
    KODI("System.OnSleep", "The system goes to sleep", item),
    KODI("System.OnWake", "The system wakes up", item),
    KODI("System.OnLowBattery", "The battery is low", item),
};

/* ---- Mopidy: {"event": NAME, …}, without params ---- */

#define MOPIDY(event, text)                                                                        \
    {                                                                                              \
        .name = TEXT(event), .description = TEXT(text), .has_whole = true,                         \
        .schema = TEXT(ANY_OBJECT)                                                                 \
    }

static const cw_config_event mopidy[] = {
    MOPIDY("track_playback_started", "The playback of a track has started"),
    MOPIDY("track_playback_paused", "The playback of a track was paused"),
    MOPIDY("track_playback_resumed", "The playback of a track goes on"),
    MOPIDY("track_playback_ended", "The playback of a track has ended"),
    MOPIDY("playback_state_changed", "Playback has started, stopped or paused"),
    MOPIDY("tracklist_changed", "The tracklist has changed"),
    MOPIDY("playlists_loaded", "Playlists were loaded or refreshed"),
    MOPIDY("playlist_changed", "A playlist has changed"),
    MOPIDY("playlist_deleted", "A playlist was deleted"),
    MOPIDY("options_changed", "An option such as repeat or random has changed"),
    MOPIDY("volume_changed", "The volume has changed"),
    MOPIDY("mute_changed", "The sound was switched on or off"),
    MOPIDY("seeked", "The position of playback has changed"),
    MOPIDY("stream_title_changed", "The title of a stream has changed"),
};

/* ---- QMP: {"event": NAME, "data": …, "timestamp": {"seconds": …, "microseconds": …}} ---- */

#define QMP(event, text)                                                                           \
    {                                                                                              \
        .name = TEXT(event), .description = TEXT(text), .data = TEXT("/data"),                     \
        .time = TEXT("/timestamp"), .schema = TEXT(ANY_OBJECT), .arguments = {                     \
            device,                                                                                \
            CW_COUNT(device)                                                                       \
        }                                                                                          \
    }

static const cw_config_event qmp[] = {
    QMP("STOP", "The virtual machine was stopped"),
    QMP("RESUME", "The virtual machine runs again"),
    QMP("SHUTDOWN", "The virtual machine has shut down"),
    QMP("POWERDOWN", "The virtual machine was asked to power down"),
    QMP("RESET", "The virtual machine was reset"),
    QMP("SUSPEND", "The guest has suspended"),
    QMP("WAKEUP", "The guest has woken up"),
    QMP("WATCHDOG", "The watchdog timer has expired"),
    QMP("GUEST_PANICKED", "The guest has reported a panic"),
    QMP("DEVICE_DELETED", "A device was removed"),
    QMP("DEVICE_TRAY_MOVED", "The tray of a removable device has moved"),
    QMP("BLOCK_IO_ERROR", "A disk I/O error has occurred"),
    QMP("BLOCK_JOB_COMPLETED", "A block job has completed"),
    QMP("BLOCK_JOB_CANCELLED", "A block job was cancelled"),
    QMP("BLOCK_JOB_ERROR", "A block job has an error"),
    QMP("BLOCK_JOB_READY", "A block job is ready to complete"),
    QMP("JOB_STATUS_CHANGE", "The status of a job has changed"),
    QMP("MIGRATION", "The status of a migration has changed"),
    QMP("BALLOON_CHANGE", "The memory of the guest has changed"),
    QMP("RTC_CHANGE", "The guest has changed its clock"),
    QMP("VNC_CONNECTED", "A VNC client has connected"),
    QMP("VNC_DISCONNECTED", "A VNC client has disconnected"),
};

/* ---- OVSDB: "update" after "monitor", a table of rows by table ---- */

#define MONITOR                                                                                    \
    "[\"Open_vSwitch\",\"causeway\",{\"Bridge\":{\"select\":{\"initial\":false}},"                 \
    "\"Port\":{\"select\":{\"initial\":false}},\"Interface\":{\"select\":{\"initial\":false}}}]"
#define ROW_SCHEMA                                                                                 \
    "{\"type\":\"object\",\"properties\":{\"table\":{\"type\":\"string\"},\"uuid\":{\"type\":"     \
    "\"string\"},\"old\":{\"type\":\"object\"},\"new\":{\"type\":\"object\"}},\"required\":["      \
    "\"table\",\"uuid\"]}"
#define OVSDB(event, change, text)                                                                 \
    {                                                                                              \
        .name = TEXT(event), .method = TEXT("update"), .description = TEXT(text),                  \
        .data = TEXT("/params/1"), .rows = (change), .schema = TEXT(ROW_SCHEMA),                   \
        .subscribe = {.method = TEXT("monitor"), .params = TEXT(MONITOR)}, .arguments = {          \
            table,                                                                                 \
            CW_COUNT(table)                                                                        \
        }                                                                                          \
    }

static const cw_config_event ovsdb[] = {
    OVSDB("row.insert", CW_CONFIG_ROWS_INSERTED, "A row was inserted"),
    OVSDB("row.modify", CW_CONFIG_ROWS_MODIFIED, "A row was modified; old has its former columns"),
    OVSDB("row.delete", CW_CONFIG_ROWS_DELETED, "A row was deleted"),
};

static const struct {
    cw_str preset;
    const cw_config_event *events;
    size_t n;
} presets[] = {
    {TEXT("aria2"), aria2, CW_COUNT(aria2)},    {TEXT("kodi"), kodi, CW_COUNT(kodi)},
    {TEXT("mopidy"), mopidy, CW_COUNT(mopidy)}, {TEXT("ovsdb"), ovsdb, CW_COUNT(ovsdb)},
    {TEXT("qmp"), qmp, CW_COUNT(qmp)},
};

const cw_config_event *cw_preset_events(cw_str preset, size_t *ret_n)
{
    for (size_t i = 0; i < CW_COUNT(presets); i++) {
        if (cw_str_eq(presets[i].preset, preset)) {
            *ret_n = presets[i].n;
            return presets[i].events;
        }
    }
    *ret_n = 0;
    return NULL;
}

static void fill_text(cw_str *to, cw_str from)
{
    if (to->n == 0 && from.n)
        *to = from;
}

cw_config_event cw_preset_event_merge(const cw_config_event *own, const cw_config_event *row)
{
    cw_config_event all = *own;
    all.name = row->name;
    fill_text(&all.method, row->method);
    fill_text(&all.description, row->description);
    fill_text(&all.data, row->data);
    fill_text(&all.id, row->id);
    fill_text(&all.time, row->time);
    fill_text(&all.schema, row->schema);
    fill_text(&all.subscribe.method, row->subscribe.method);
    fill_text(&all.subscribe.params, row->subscribe.params);
    if (all.arguments.n == 0)
        all.arguments = row->arguments;
    all.has_whole = row->has_whole;
    all.rows = row->rows;
    return all;
}
